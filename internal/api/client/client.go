// Package client calls a master's HTTP API, for commands on another host. Requests and
// answers are the types of internal/api/types and internal/run. An answer with an error
// is an [Error].
package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run/version"
)

// Options configure a Client.
type Options struct {
	Token string      // API token; empty: requests have no login before Login
	TLS   *tls.Config // nil: the system's authorities, and those of CA
	CA    string      // PEM, of authorities that are trusted besides the system's; not used with TLS

	Wait   time.Duration // before the first attempt to reconnect; 0: 200 ms
	Silent time.Duration // a stream of events without a line for this long is closed and opened again; 0: 45 s
}

// Client calls one master. Its methods may be called by several goroutines at once. The
// caller should Close it.
//
// A method returns an *Error if the master answers with one, ctx's error once ctx ends, and
// else, if no answer of a master came, an error that says why.
type Client struct {
	base    *url.URL
	options Options
	token   string
	broken  func(error) // of WhenBroken
	http    *http.Client
	wait    time.Duration
	silent  time.Duration
}

// Error is a master's answer with an error.
type Error struct {
	types.Problem
	Retry time.Duration // wait before another attempt; 0: the master named none
}

// Error returns the detail, an indented line "POINTER DETAIL" for each invalid value (without
// the pointer's first slash), and "(request ID)" if the status is 500 or more, without a
// newline at the end.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Detail)
	for _, d := range e.Errors {
		fmt.Fprintf(&b, "\n  %s %s", strings.TrimPrefix(d.Pointer, "/"), d.Detail)
	}
	if e.Status >= http.StatusInternalServerError && e.Request != "" {
		fmt.Fprintf(&b, " (request %s)", e.Request)
	}
	return b.String()
}

// UntrustedError means that the authority of the master's certificate is not among those of
// Options. A command line then names the flag that adds it.
type UntrustedError struct {
	URL string // of the master
	err error
}

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("the certificate of %s is of an authority that this host does not trust: %v", e.URL, e.err)
}

func (e *UntrustedError) Unwrap() error { return e.err }

// IsCode reports whether err is an answer of a master with a code such as types.NotFound.
func IsCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}

// New returns a client of the master at an address such as "http://127.0.0.1:8080" or
// "gobench.example.com:8080" (without a scheme: http). It returns an error if address is
// not one; it does not connect. It follows no redirects.
func New(address string, o Options) (*Client, error) {
	u, err := parse(address)
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = o.TLS
	if o.TLS == nil && o.CA != "" {
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool()
		}
		pool.AppendCertsFromPEM([]byte(o.CA))
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	transport.MaxIdleConnsPerHost = 4
	transport.ResponseHeaderTimeout = 60 * time.Second
	c := &Client{base: u, options: o, token: o.Token, wait: cmp.Or(o.Wait, 200*time.Millisecond), silent: cmp.Or(o.Silent, 45*time.Second)}
	c.http = &http.Client{Transport: transport, Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c, nil
}

// Address returns a master's address in the form of Client.URL: with a scheme (http if it has
// none), the host in lower case, no slash at its end. Ports and names of the host stay as they
// are. It returns an error if address is not one.
func Address(address string) (string, error) {
	u, err := parse(address)
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

// parse returns an address as a URL of a scheme, by default http, and a host in lower case. It
// drops slashes at the end, and returns an error, for the user, if there is anything else.
func parse(address string) (*url.URL, error) {
	full := address
	if !strings.Contains(address, "://") {
		full = "http://" + address
	}
	u, err := url.Parse(strings.TrimRight(full, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("%q is not the address of a master: write http://HOST:PORT or https://HOST:PORT", address)
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// WhenBroken sets a function that is called with the error each time a stream of events has
// broken or could not be opened, before the next attempt; the error is nil if the master
// ended the stream. Set it before Events.
func (c *Client) WhenBroken(f func(error)) { c.broken = f }

// Anonymous returns a new client of the same master without a login and without
// WhenBroken's function. The caller should Close it.
func (c *Client) Anonymous() (*Client, error) {
	o := c.options
	o.Token = ""
	return New(c.URL(), o)
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// URL returns the master's URL.
func (c *Client) URL() string { return c.base.String() }

// request is a request to the API.
type request struct {
	method, path string // below /api/v1
	query        url.Values
	body         any       // nil: no body
	archive      io.Reader // sent as the body, unchanged; nil: no archive
	header       http.Header
}

// send sends a request and returns the answer if its status is 2xx. The caller must close its
// body. Other statuses are an error of answerError, and no answer is one of explain. q.archive
// is closed if it is an io.Closer.
func (c *Client) send(ctx context.Context, q request) (*http.Response, error) {
	u := *c.base
	u.Path = "/api/v1" + q.path
	u.RawQuery = q.query.Encode()
	var body io.Reader
	if q.body != nil {
		b, err := json.Marshal(q.body)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", q.method, q.path, err)
		}
		body = bytes.NewReader(b)
	}
	if q.archive != nil {
		body = q.archive
	}
	r, err := http.NewRequestWithContext(ctx, q.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	for name, values := range q.header {
		r.Header[name] = values
	}
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	r.Header.Set("User-Agent", "gobench/"+version.Version)
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	if answer.StatusCode/100 == 2 {
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, c.answerError(answer)
}

// answerError returns the error for an answer with another status than 2xx: an *Error if it
// is a problem of a master or a 503 without a body (see notMaster), else a text for the user.
// It does not close the body.
func (c *Client) answerError(answer *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	e := &Error{}
	if answer.StatusCode == http.StatusBadRequest && bytes.Contains(b, []byte("HTTP request to an HTTPS server")) {
		return fmt.Errorf("%s speaks TLS: use https:// in its address", c.URL())
	}
	if answer.Header.Get("Content-Type") != "application/problem+json" || err != nil || json.Unmarshal(b, &e.Problem) != nil || e.Code == "" {
		return c.notMaster(answer)
	}
	if s, err := time.ParseDuration(answer.Header.Get("Retry-After") + "s"); err == nil {
		e.Retry = s
	}
	if e.Detail == "" {
		e.Detail = e.Title
	}
	return e
}

// notMaster returns the error for an answer that does not look like a master's. A 503
// without a body is a master's that has too many connections: an *Error to retry.
func (c *Client) notMaster(answer *http.Response) error {
	if answer.StatusCode == http.StatusServiceUnavailable && answer.ContentLength == 0 {
		return &Error{Problem: types.Problem{Status: answer.StatusCode, Code: types.Unavailable, Detail: "the master at " + c.URL() + " has too many connections"}, Retry: 5 * time.Second}
	}
	return fmt.Errorf("the server at %s is not a gobench master, or a proxy answers for it (status %d, %q): check the address", c.URL(), answer.StatusCode, answer.Header.Get("Content-Type"))
}

// explain returns an error with the reason why there is no answer, and what to do. It wraps
// err, or is ctx's error if ctx has ended.
func (c *Client) explain(ctx context.Context, err error) error {
	var inner *url.Error
	if errors.As(err, &inner) {
		err = inner.Err // without the method and the URL twice
	}
	var (
		unknown  x509.UnknownAuthorityError
		host     x509.HostnameError
		record   tls.RecordHeaderError
		dns      *net.DNSError
		at       = c.URL()
		verify   *tls.CertificateVerificationError
		plain    = c.base.Scheme == "http"
		timedOut net.Error
	)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no master answers at %s: start one there with gobench, or set its address with --master: %w", at, err)
	case errors.As(err, &dns):
		return fmt.Errorf("the host of %s cannot be found: check the address: %w", at, err)
	case errors.As(err, &unknown):
		return &UntrustedError{at, err}
	case errors.As(err, &host):
		return fmt.Errorf("the certificate of %s is of another host: %w", at, err)
	case errors.As(err, &verify):
		return fmt.Errorf("the certificate of %s is not valid: %w", at, err)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Errorf("%s does not speak TLS: use http:// in its address: %w", at, err)
	case plain && strings.Contains(err.Error(), "malformed HTTP"):
		return fmt.Errorf("the server at %s does not speak HTTP: check the address: %w", at, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE),
		strings.Contains(err.Error(), "server closed idle connection"):
		return fmt.Errorf("the connection to the master at %s broke before it had answered: %w", at, err)
	case errors.As(err, &timedOut) && timedOut.Timeout():
		return fmt.Errorf("the master at %s does not answer in time: %w", at, err)
	}
	return fmt.Errorf("call the master at %s: %w", at, err)
}

// ask sends a request and decodes the answer's JSON. The value is valid only if the error
// is nil.
func ask[T any](ctx context.Context, c *Client, q request) (v T, err error) {
	v, _, err = askTag[T](ctx, c, q)
	return v, err
}

// askTag is ask, and returns the answer's ETag too, or "". An answer without a body is an
// error.
func askTag[T any](ctx context.Context, c *Client, q request) (v T, etag string, err error) {
	answer, err := c.send(ctx, q)
	if err != nil {
		return v, "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusNoContent && answer.Header.Get("Content-Type") != "application/json" {
		return v, "", c.notMaster(answer)
	}
	if err := json.NewDecoder(answer.Body).Decode(&v); err != nil {
		return v, "", fmt.Errorf("read the master's answer: %w", err)
	}
	return v, answer.Header.Get("ETag"), nil
}

// do sends a request and ignores the body of its answer.
func (c *Client) do(ctx context.Context, q request) error {
	answer, err := c.send(ctx, q)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}
