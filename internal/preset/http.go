package preset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/executor/scenario"
	"github.com/gobench-io/gobench/internal/template"
)

// HTTP are the options of the built-in HTTP load: so many connections, each sending
// one request after the other, or serving requests that start on a schedule. It
// records under the prefix "http". The path of URL, the values of Headers and Body
// are templates.
type HTTP struct {
	URL         string
	Method      string
	Headers     map[string]string
	Body        []byte
	Connections int
	Duration    time.Duration // 0: Requests decides
	Requests    int           // over all connections; 0: Duration decides
	Warmup      time.Duration // before Duration
	Stages      []scenario.Rate
	Poisson     bool // of Stages, as is Drop
	Drop        bool
	Timeout     time.Duration // of a request
	Insecure    bool          // any server certificate will do
	Data        *Data         // nil: none
	Literal     bool          // URL, Headers and Body are no templates
}

// Vus gives the scenario of the options.
func (o HTTP) Vus() (scenario.Vus, error) {
	load := scenario.Load(scenario.Loop(o.Warmup + o.Duration))
	switch {
	case len(o.Stages) > 0:
		stages := o.Stages
		if o.Warmup > 0 {
			stages = append([]scenario.Rate{{To: stages[0].To, Over: o.Warmup, Warmup: true}}, stages...)
		}
		load = scenario.Arrival{Stages: stages, Poisson: o.Poisson, Drop: o.Drop}
	case o.Requests > 0:
		load = scenario.Shared(o.Requests)
	}
	t, err := o.texts()
	if err != nil {
		return nil, err
	}
	if o.Data != nil {
		t.feeder = o.Data.feeder()
	}
	return scenario.Vus{{
		Name: "http",
		Nu:   o.Connections,
		Load: load,
		Setup: func(ctx context.Context) (context.Context, error) {
			return ctx, o.Data.enough(ctx, t.feeder, o.Connections)
		},
		Start: func(ctx context.Context, vui int) (scenario.User, error) {
			client, err := http.NewHttpClient(ctx, "http", http.Options{MaxConns: 1, Timeout: o.Timeout, InsecureSkipVerify: o.Insecure})
			if err != nil {
				return nil, err
			}
			u := httpUser{client: client, request: http.Request{Method: o.Method, URL: o.URL, Headers: o.Headers, Body: o.Body, Discard: true}}
			if t.fixed() {
				return &u, nil
			}
			return newChangingUser(ctx, u, vui, t), nil
		},
	}}, nil
}

// httpUser is one connection's user.
type httpUser struct {
	client  http.HttpClient
	request http.Request
}

// Iterate sends the request and reads the whole answer.
func (u *httpUser) Iterate(ctx context.Context) error {
	_, err := u.client.Do(ctx, u.request)
	return err
}

// texts are the templates of a request.
type texts struct {
	url     *template.Template
	names   []string // of the headers that change
	headers []*template.Template
	body    *template.Template // nil: it does not change
	urlGoes bool               // the URL changes
	feeder  *data.Feeder       // nil: none
	seq     atomic.Int64       // of the next request, over all users
}

// Check refuses templates that can't be read, and those that want what Data does not
// have. The error names the option.
func (o HTTP) Check() error {
	t, err := o.texts()
	if err != nil {
		return err
	}
	return o.Data.check(t.columns())
}

// texts reads the templates.
func (o HTTP) texts() (*texts, error) {
	t := new(texts)
	if o.Literal {
		return t, nil
	}
	var err error
	if t.url, err = template.ParseURL(o.URL); err != nil {
		return nil, fmt.Errorf("URL: %w", err)
	}
	text, fixed := t.url.Fixed()
	t.urlGoes = !fixed || text != o.URL
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		h, err := template.Parse(o.Headers[name])
		if err != nil {
			return nil, fmt.Errorf("header %s: %w", name, err)
		}
		if text, fixed := h.Fixed(); fixed && text == o.Headers[name] {
			continue
		}
		t.names, t.headers = append(t.names, name), append(t.headers, h)
	}
	b, err := template.Parse(string(o.Body))
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if text, fixed := b.Fixed(); !fixed || text != string(o.Body) {
		t.body = b
	}
	return t, nil
}

// columns are those that the templates want of a row.
func (t *texts) columns() (columns []string) {
	for _, x := range append([]*template.Template{t.url, t.body}, t.headers...) {
		if x != nil {
			columns = append(columns, x.Columns()...)
		}
	}
	return columns
}

// fixed reports whether all requests are the same.
func (t *texts) fixed() bool {
	return !t.urlGoes && len(t.headers) == 0 && t.body == nil && t.feeder == nil
}

// changingUser is a user whose requests differ. They are rendered into one buffer,
// which the strings of the request point into while it is sent.
type changingUser struct {
	httpUser
	texts  *texts
	values template.Values
	row    data.Row
	buf    []byte
	ends   []int // of the header values in buf
}

func newChangingUser(ctx context.Context, u httpUser, vui int, t *texts) *changingUser {
	u.request.Headers = maps.Clone(u.request.Headers)
	c := &changingUser{httpUser: u, texts: t, ends: make([]int, len(t.headers))}
	c.values = template.Values{User: int64(vui), Rand: executor.Rand(ctx), Row: &c.row}
	return c
}

// Iterate renders and sends the next request.
func (u *changingUser) Iterate(ctx context.Context) error {
	if u.texts.feeder != nil {
		if err := u.texts.feeder.Read(ctx, &u.row); err != nil {
			return err
		}
	}
	u.values.Next(u.texts.seq.Add(1) - 1)
	u.render()
	return u.httpUser.Iterate(ctx)
}

// render fills in what changes. The client keeps nothing of a request when Do has
// returned, so that the buffer may be written again.
func (u *changingUser) render() {
	t, b := u.texts, u.buf[:0]
	if t.urlGoes {
		b = t.url.Append(b, &u.values)
	}
	urlEnd := len(b)
	for i, h := range t.headers {
		b = h.Append(b, &u.values)
		u.ends[i] = len(b)
	}
	headersEnd := len(b)
	if t.body != nil {
		b = t.body.Append(b, &u.values)
		u.request.Body = b[headersEnd:]
	}
	u.buf = b
	if t.urlGoes {
		u.request.URL = unsafe.String(unsafe.SliceData(b), urlEnd)
	}
	from := urlEnd
	for i, name := range t.names {
		u.request.Headers[name] = unsafe.String(unsafe.SliceData(b[from:]), u.ends[i]-from)
		from = u.ends[i]
	}
}
