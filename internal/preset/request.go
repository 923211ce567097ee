package preset

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/internal/template"
)

// Target is a request to send. The path and query of its URL, the values of Headers
// and Body are templates.
type Target struct {
	Method  string
	URL     string
	Headers map[string]string
	Body    []byte
}

// requests are what users send, in turn.
type requests struct {
	all    []*request
	feeder *data.Feeder // nil: none
	seq    atomic.Int64 // of the next request, over all users
}

// request is a target whose templates were read.
type request struct {
	http.Request
	url     *template.Template // nil: it does not change
	names   []string           // of the headers that change
	headers []*template.Template
	body    *template.Template // nil: it does not change
}

// Check refuses templates that can't be read, and those that want what Data does not
// have. The error names the option.
func (o HTTP) Check() error {
	r, err := o.requests()
	if err != nil {
		return err
	}
	var columns []string
	for _, q := range r.all {
		for _, t := range append([]*template.Template{q.url, q.body}, q.headers...) {
			if t != nil {
				columns = append(columns, t.Columns()...)
			}
		}
	}
	return o.Data.check(columns)
}

// requests reads the templates of all targets.
func (o HTTP) requests() (*requests, error) {
	r := new(requests)
	for i, t := range o.Targets {
		q := &request{Request: http.Request{Method: t.Method, URL: t.URL, Headers: t.Headers, Body: t.Body, Discard: true}}
		if !o.Literal {
			if err := q.parse(); err != nil && len(o.Targets) > 1 {
				return nil, fmt.Errorf("target %d: %w", i+1, err)
			} else if err != nil {
				return nil, err
			}
		}
		r.all = append(r.all, q)
	}
	return r, nil
}

// parse reads the templates of a request.
func (q *request) parse() (err error) {
	if q.url, err = changing(q.URL, template.ParseURL); err != nil {
		return fmt.Errorf("URL: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(q.Headers)) {
		h, err := changing(q.Headers[name], template.Parse)
		if err != nil {
			return fmt.Errorf("header %s: %w", name, err)
		}
		if h != nil {
			q.names, q.headers = append(q.names, name), append(q.headers, h)
		}
	}
	if q.body, err = changing(string(q.Body), template.Parse); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	return nil
}

// changing reads a text; nil: it is always itself.
func changing(text string, parse func(string) (*template.Template, error)) (*template.Template, error) {
	t, err := parse(text)
	if err != nil {
		return nil, err
	}
	if same, fixed := t.Fixed(); fixed && same == text {
		return nil, nil
	}
	return t, nil
}

func (q *request) changes() bool { return q.url != nil || q.headers != nil || q.body != nil }

// changingUser is a user whose requests differ. They are rendered into one buffer,
// which the strings of the request point into while it is sent.
type changingUser struct {
	httpUser
	from    *requests
	values  template.Values
	row     data.Row
	buf     []byte
	ends    []int             // of the header values in buf
	headers map[string]string // of a request whose headers change
}

func newChangingUser(ctx context.Context, u httpUser, vui int, from *requests) *changingUser {
	c := &changingUser{httpUser: u, from: from}
	c.values = template.Values{User: int64(vui), Rand: executor.Rand(ctx), Row: &c.row}
	return c
}

// Iterate sends the next request.
func (u *changingUser) Iterate(ctx context.Context) error {
	if u.from.feeder != nil {
		if err := u.from.feeder.Read(ctx, &u.row); err != nil {
			return err
		}
	}
	seq := u.from.seq.Add(1) - 1
	q := u.from.all[seq%int64(len(u.from.all))]
	u.request = q.Request
	if q.changes() {
		u.values.Next(seq)
		u.render(q)
	}
	return u.httpUser.Iterate(ctx)
}

// render fills in what changes. The client keeps nothing of a request when Do has
// returned, so that the buffer may be written again.
func (u *changingUser) render(q *request) {
	b := u.buf[:0]
	if q.url != nil {
		b = q.url.Append(b, &u.values)
	}
	urlEnd := len(b)
	u.ends = u.ends[:0]
	for _, h := range q.headers {
		b = h.Append(b, &u.values)
		u.ends = append(u.ends, len(b))
	}
	headersEnd := len(b)
	if q.body != nil {
		b = q.body.Append(b, &u.values)
		u.request.Body = b[headersEnd:]
	}
	u.buf = b
	if q.url != nil {
		u.request.URL = text(b[:urlEnd])
	}
	if len(q.headers) > 0 {
		if u.headers == nil {
			u.headers = map[string]string{}
		}
		clear(u.headers)
		maps.Copy(u.headers, q.Headers)
		from := urlEnd
		for i, name := range q.names {
			u.headers[name] = text(b[from:u.ends[i]])
			from = u.ends[i]
		}
		u.request.Headers = u.headers
	}
}

// text is b as a string, without a copy.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
