// Package http is an HTTP/1.1 client that measures; HTTP/2 is an option.
//
// A scenario makes one client for each user, or one that its users share, and
// calls it; every operation is counted under the client's prefix:
//
//	client, err := http.NewHttpClient(ctx, "home")
//	...
//	body, err := client.Get(ctx, "http://example.com/", nil)
//
// counts home.http_ok, home.http_fail or home.http_other_fail and records
// home.latency; docs/clients/http.md lists all metrics.
//
// The engine is gobench's own (RFC 9110, RFC 9112): the caller's goroutine writes
// a rendered request in one system call and reads the answer from a pooled buffer.
// A request that repeats allocates nothing but the body it returns, and a
// connection that waits owns no buffer. Redirects, cookies, Digest, decoding and
// bodies from elsewhere are asked for by [Options] and [Request] and sit on the same
// engine.
package http

import (
	"context"
	"errors"
	"fmt"

	"github.com/gobench-io/gobench/executor"
)

// HttpClient sends requests and records what becomes of them. It is a small value
// to copy; the copies are one client. Any number of goroutines may use it at once.
//
// Calls that follow each other share one connection to a server; calls at the same
// time have one each, up to [Options.MaxConns]. A client lasts until the ctx of
// NewHttpClient ends: its connections are then closed, and calls in flight return.
type HttpClient struct {
	c *client
}

// NewHttpClient makes a client whose metrics are titled PREFIX.http_ok and so on.
// Clients of the same prefix share their metrics: the second and later ones cost
// one map read. It does not connect.
//
// It records for the user that ctx carries; ctx is also how long the client lasts.
// At most one Options may be given; without, it is [DefaultOptions]. An error tells
// of a wrong option, or of a prefix that clashes with other metrics.
func NewHttpClient(ctx context.Context, prefix string, opts ...Options) (HttpClient, error) {
	if len(opts) > 1 {
		return HttpClient{}, fmt.Errorf("http client %q: %d options given, want one", prefix, len(opts))
	}
	recorder := executor.From(ctx)
	family, err := familyOf(recorder, prefix)
	if err != nil {
		return HttpClient{}, fmt.Errorf("http client %q: %w", prefix, err)
	}
	settings := family.plain
	if len(opts) == 1 {
		settings, err = family.settings(recorder, opts[0])
		if err == nil && settings.follows {
			err = family.needHops(recorder)
		}
		if err != nil {
			return HttpClient{}, fmt.Errorf("http client %q: %w", prefix, err)
		}
	}
	return HttpClient{&client{
		ctx: ctx, done: ctx.Done(),
		recorder: recorder, family: family, settings: settings,
	}}, nil
}

// Get fetches url and returns the whole body.
//
// It counts 2xx under http_ok and any other status under http_fail, and records one
// latency, from the call to the last byte of the body. No complete answer counts
// under http_other_fail and under the error's class, and adds no latency, so a
// timeout never reads as a slow success. The error is then what went wrong;
// errors.Is(err, context.Canceled) holds when the end of ctx or of the client ended
// the call, which counts under error.canceled only.
//
// Any status is an answer and no error. A wrong call (url, headers) is an error
// that counts nowhere, as is a ctx that is done before the call.
func (h HttpClient) Get(ctx context.Context, url string, headers map[string]string) ([]byte, error) {
	return h.call(ctx, "GET", url, nil, headers, false)
}

// GetIgnoreRes is Get, but throws the body away as it comes, however large.
func (h HttpClient) GetIgnoreRes(ctx context.Context, url string, headers map[string]string) error {
	_, err := h.call(ctx, "GET", url, nil, headers, true)
	return err
}

// Post sends body to url and returns the whole body of the answer; it records as
// Get does. On a connection that the server has just closed Post and Patch fail
// (class eof or reset) once a byte of them is sent, where the other methods are sent
// again on a new one (RFC 9110, section 9.2.2).
func (h HttpClient) Post(ctx context.Context, url string, body []byte, headers map[string]string) ([]byte, error) {
	return h.call(ctx, "POST", url, body, headers, false)
}

// PostIgnoreRes is Post, but throws the body of the answer away as it comes.
func (h HttpClient) PostIgnoreRes(ctx context.Context, url string, body []byte, headers map[string]string) error {
	_, err := h.call(ctx, "POST", url, body, headers, true)
	return err
}

// Put sends body to url and returns the whole body of the answer; it records as Get
// does.
func (h HttpClient) Put(ctx context.Context, url string, body []byte, headers map[string]string) ([]byte, error) {
	return h.call(ctx, "PUT", url, body, headers, false)
}

// Patch sends body to url and returns the whole body of the answer; it records as
// Post does.
func (h HttpClient) Patch(ctx context.Context, url string, body []byte, headers map[string]string) ([]byte, error) {
	return h.call(ctx, "PATCH", url, body, headers, false)
}

// Do sends any request and returns its answer; it records as Get does. With Discard
// nothing of the answer's head and body is kept.
//
// Where the answer asks for more (a redirect, a Digest challenge) and the client's
// options say to give it, one call is several requests: it records once, of the last
// answer, with the time from the call to that answer's last byte.
func (h HttpClient) Do(ctx context.Context, request Request) (Response, error) {
	q := call{request: request, keepHead: !request.Discard}
	if q.request.Method == "" {
		q.request.Method = "GET"
	}
	if err := h.do(ctx, &q); err != nil {
		return Response{}, err
	}
	return q.response(), nil
}

// Close closes the client's connections: idle ones at once, the others after the
// calls they serve. Later calls fail. A client needs no Close: its connections end
// with the ctx of NewHttpClient.
func (h HttpClient) Close() {
	if h.c != nil {
		h.c.close(false)
	}
}

func (h HttpClient) call(ctx context.Context, method, url string, body []byte, headers map[string]string, discard bool) ([]byte, error) {
	var q call
	q.request.Method, q.request.URL, q.request.Headers = method, url, headers
	q.request.Body, q.request.Discard = body, discard
	err := h.do(ctx, &q)
	return q.body, err
}

func (h HttpClient) do(ctx context.Context, q *call) error {
	if h.c == nil {
		return errors.New("HttpClient was not made by NewHttpClient")
	}
	return h.c.do(ctx, q)
}
