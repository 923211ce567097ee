// Package http is an HTTP/1.1 client that records metrics; HTTP/2 is an option.
//
// A scenario creates one client for each user, or one that its users share. Every call is one
// operation, counted under the client's prefix:
//
//	client, err := http.NewHttpClient(ctx, "home")
//	...
//	body, err := client.Get(ctx, "http://example.com/", nil)
//
// counts home.http_ok, home.http_fail or home.http_other_fail and records home.latency;
// docs/clients/http.md lists all metrics.
//
// The HTTP implementation is gobench's own (RFC 9110, RFC 9112): the caller's goroutine writes
// the request in one system call and reads the answer into a pooled buffer. A repeated request
// allocates only the body that it returns, and an idle connection has no buffer. [Options] and
// [Request] add redirects, cookies, Digest authentication, decoding and streamed bodies.
package http

import (
	"context"
	"errors"
	"fmt"

	"github.com/gobench-io/gobench/executor"
)

// HttpClient sends requests and records their outcomes. It is a small value; copies are the
// same client. Any number of goroutines may use it at once.
//
// Sequential calls share one connection to a server; concurrent calls use one each, up to
// [Options.MaxConns]. When the ctx of NewHttpClient ends, the client closes its connections
// and calls in flight return an error, so nothing needs to be closed.
type HttpClient struct {
	c *client
}

// NewHttpClient returns a client whose metrics are titled PREFIX.http_ok and so on. Clients
// with the same prefix share their metrics; without options the second and later ones cost one
// map read. It does not connect.
//
// The client records for the user that ctx carries, and works until ctx ends. opts is empty,
// which means [DefaultOptions], or has one element; the client copies it. NewHttpClient
// returns an error if an option is invalid, or if the prefix's metrics can't be declared: a
// title is invalid or used by other metrics, or the run has too many. The HttpClient is then
// the zero value, whose calls return an error.
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

// Get fetches url and returns the whole body, which the caller owns.
//
// It counts a status 2xx under http_ok and any other status under http_fail, and records one
// latency in nanoseconds, from the call to the last byte of the body. An answer with any status
// is not an error.
//
// Without a complete answer it returns an error, counts the operation under http_other_fail
// and under the error's class, and records no latency, so that a timeout never looks like a
// slow success. A body larger than Options.MaxBody is such an error. If ctx was canceled or
// the client's ctx ended, it counts only under error.canceled, the traffic and the peer, and
// errors.Is(err, context.Canceled) is true; the end of ctx by its deadline counts as a
// timeout.
//
// If url or a header is malformed, the client is closed, or ctx has ended before the call, it
// returns an error and counts nothing.
func (h HttpClient) Get(ctx context.Context, url string, headers map[string]string) ([]byte, error) {
	return h.call(ctx, "GET", url, nil, headers, false)
}

// GetIgnoreRes is Get without the body, which it reads to its end and discards, whatever its
// size.
func (h HttpClient) GetIgnoreRes(ctx context.Context, url string, headers map[string]string) error {
	_, err := h.call(ctx, "GET", url, nil, headers, true)
	return err
}

// Post sends body to url and returns the whole body of the answer. It records as Get does. The
// caller must not change body before Post returns.
//
// If an idle connection turns out to be closed after a byte of the request was sent, Post and
// Patch fail with the class eof or reset; Get and Put repeat the request, once, on a new
// connection (RFC 9110, section 9.2.2). On a new connection nothing is repeated.
func (h HttpClient) Post(ctx context.Context, url string, body []byte, headers map[string]string) ([]byte, error) {
	return h.call(ctx, "POST", url, body, headers, false)
}

// PostIgnoreRes is Post without the body of the answer, which it reads and discards.
func (h HttpClient) PostIgnoreRes(ctx context.Context, url string, body []byte, headers map[string]string) error {
	_, err := h.call(ctx, "POST", url, body, headers, true)
	return err
}

// Put sends body to url and returns the whole body of the answer. It records as Get does. The
// caller must not change body before Put returns.
func (h HttpClient) Put(ctx context.Context, url string, body []byte, headers map[string]string) ([]byte, error) {
	return h.call(ctx, "PUT", url, body, headers, false)
}

// Patch sends body to url and returns the whole body of the answer. It records and fails as
// Post does.
func (h HttpClient) Patch(ctx context.Context, url string, body []byte, headers map[string]string) ([]byte, error) {
	return h.call(ctx, "PATCH", url, body, headers, false)
}

// Do sends any request and returns its answer. It records as Get does. With Discard the
// Response has neither head nor body. With an error it is the zero Response.
//
// If the client's options let it follow a redirect or a Digest challenge, one call sends
// several requests. It is still one operation: the status is that of the last answer, and the
// latency is from the call to the last byte of that answer.
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

// Close closes idle connections at once and the others when their calls have ended, for which
// it does not wait. Later calls, and those that wait for a connection, return an error. Close
// is optional: all connections are also closed when the ctx of NewHttpClient ends. It may be
// called more than once, by any goroutine.
func (h HttpClient) Close() {
	if h.c != nil {
		h.c.close(false)
	}
}

// call is Get for any method and body. With discard, and with an error, the body of the answer
// is nil.
func (h HttpClient) call(ctx context.Context, method, url string, body []byte, headers map[string]string, discard bool) ([]byte, error) {
	var q call
	q.request.Method, q.request.URL, q.request.Headers = method, url, headers
	q.request.Body, q.request.Discard = body, discard
	err := h.do(ctx, &q)
	return q.body, err
}

// do is client.do; it returns an error for the zero HttpClient.
func (h HttpClient) do(ctx context.Context, q *call) error {
	if h.c == nil {
		return errors.New("HttpClient was not made by NewHttpClient")
	}
	return h.c.do(ctx, q)
}
