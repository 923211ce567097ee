package builtin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/gobench-io/gobench/clients/http"
	"github.com/gobench-io/gobench/executor"
	"github.com/gobench-io/gobench/executor/data"
	"github.com/gobench-io/gobench/internal/builtin/template"
	"github.com/gobench-io/gobench/internal/measure/meter"
	"github.com/gobench-io/gobench/internal/run/segment"
)

// Target is a request to send. The path and query of its URL and the values of Headers and Body
// are templates.
type Target struct {
	Method  string
	URL     string
	Headers map[string]string
	Body    []byte
}

// requests holds the requests that users send, in turn.
type requests struct {
	all    []*request
	kept   bool         // a client may still use the rendered text after the request
	feeder *data.Feeder // nil: none
	sent   atomic.Int64 // number of requests started by all users of this executor
}

// request is a target with its parsed templates.
type request struct {
	http.Request
	url     *template.Template // nil: constant
	names   []string           // of the headers that are not constant
	headers []*template.Template
	body    *template.Template // nil: constant
}

// Check returns the error that the executor would report: for invalid options, invalid
// templates, and templates that need columns that Data lacks. Whether Data has enough rows
// is not checked. The error names the option, or the target and part. It reads the first
// row of Data's file, and does what Client.Check does.
func (o HTTP) Check() error {
	if err := o.Client.Check(); err != nil {
		return err
	}
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

// requests parses the templates of all targets. The error names the part of the target, and
// the target by its number, from 1, if there are several. No targets are an error too.
func (o HTTP) requests() (*requests, error) {
	if len(o.Targets) == 0 {
		return nil, errors.New("there are no targets")
	}
	r := &requests{kept: o.Client.HTTP2}
	names := names(o.Targets)
	for i, t := range o.Targets {
		q := &request{Request: http.Request{Method: t.Method, URL: t.URL, Headers: t.Headers, Body: t.Body, Discard: true, Name: names[i]}}
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

// parse parses the templates of a request; those that are constant stay nil. The error names
// the part: URL, header NAME or body.
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

// changing returns the template in a text; nil and no error if the text is its own only
// value. Text that only quotes braces has a template.
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

// changingUser is a user whose requests differ. They are rendered into one buffer, which the
// strings of the request point into while it is sent.
type changingUser struct {
	httpUser
	from    *requests
	numbers segment.Numbers // of {{seq}}
	values  template.Values
	row     data.Row
	buf     []byte
	ends    []int             // of the header values in buf
	headers map[string]string // of a request with headers that are not constant
}

// newChangingUser returns the user vui, which sends the requests of from in turn with all
// other users of this executor. It draws from the random source of ctx's user.
func newChangingUser(ctx context.Context, u httpUser, vui int, from *requests) *changingUser {
	c := &changingUser{httpUser: u, from: from, numbers: numbersOf(ctx)}
	c.values = template.Values{User: int64(vui), Rand: executor.Rand(ctx), Row: &c.row}
	return c
}

// numbersOf returns the numbers of this executor, or the zero Numbers without a run.
func numbersOf(ctx context.Context) segment.Numbers {
	return (*meter.Scope)(executor.From(ctx)).Registry.Numbers()
}

// Iterate sends the next request, with the next row of data. It returns the feeder's error,
// such as data.ErrEnd, before it sends anything, else that of the client's Do, also when ctx
// ends. An answer with any status is not an error.
func (u *changingUser) Iterate(ctx context.Context) error {
	if u.from.feeder != nil {
		if err := u.from.feeder.Read(ctx, &u.row); err != nil {
			return err
		}
	}
	n := u.from.sent.Add(1) - 1
	q := u.from.all[n%int64(len(u.from.all))]
	u.request = q.Request
	if q.changes() {
		u.values.Next(u.numbers.Seq(n))
		u.render(q)
	}
	return u.httpUser.Iterate(ctx)
}

// render renders the templates of q into u.request, which must be a copy of q's and whose
// strings are valid until the next call. The HTTP/1.1 client does not use a request after Do
// has returned, so the buffer is reused. The HTTP/2 client stores strings in its table of
// headers (RFC 7541, section 2.3.2), and may still send a body, so a new buffer is used.
func (u *changingUser) render(q *request) {
	if u.from.kept {
		u.buf = nil
	}
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

// text returns b as a string, without a copy: b must not be changed while the string is used.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
