package api

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
)

// problem is an error whose text is sent to the client. All other errors are answered with
// status 500, and their text is in the log only.
type problem struct {
	types.Problem
	retry time.Duration // for Retry-After; 0: no such header
}

func (p *problem) Error() string { return p.Code + ": " + p.Detail }

// GetStatus, GetHeaders and ContentType implement huma's interfaces.
func (p *problem) GetStatus() int { return p.Status }

// GetHeaders returns Retry-After and, for 401, WWW-Authenticate, or an empty header.
func (p *problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.retry > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64((p.retry+time.Second-1)/time.Second), 10))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="gobench"`)
	}
	return h
}

func (p *problem) ContentType(string) string { return "application/problem+json" }

// refuse returns a problem; errs are the values of the request that are wrong.
func refuse(status int, code, detail string, errs ...types.Detail) *problem {
	return &problem{Problem: types.Problem{
		Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail, Errors: errs,
	}}
}

// retryLater is refuse with a header Retry-After, in seconds, rounded up.
func retryLater(status int, code, detail string, retry time.Duration) *problem {
	p := refuse(status, code, detail)
	p.retry = retry
	return p
}

var (
	errUnauthenticated = refuse(http.StatusUnauthorized, types.Unauthenticated, "log in, or send a valid API token: Authorization: Bearer TOKEN")
	errForbidden       = refuse(http.StatusForbidden, types.Forbidden, "your role does not allow that")
	errNotFound        = refuse(http.StatusNotFound, types.NotFound, "not found")
	errStale           = refuse(http.StatusPreconditionFailed, types.Stale, "it has changed since you read it: read it again")
)

// known maps errors of package run and of the system to problems.
var known = []struct {
	err    error
	status int
	code   string
	say    bool // send the error's own text
}{
	{run.ErrNotFound, http.StatusNotFound, types.NotFound, false},
	{run.ErrConflict, http.StatusConflict, types.Conflict, true},
	{run.ErrTooOld, http.StatusGone, types.TooOld, true},
	{run.ErrArchive, http.StatusUnprocessableEntity, types.BadArchive, true},
	{run.ErrFull, http.StatusInsufficientStorage, types.NoSpace, false},
	{syscall.ENOSPC, http.StatusInsufficientStorage, types.NoSpace, false},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, types.Unavailable, false},
	{context.Canceled, http.StatusServiceUnavailable, types.Unavailable, false},
}

// problemOf returns the problem for an error that is not nil: the problem that it wraps,
// the invalid field of a *run.InputError (422), the row of known, or else status 500. It
// does not log. The caller must not change the result, which may be shared.
func problemOf(err error) *problem {
	var p *problem
	if errors.As(err, &p) {
		return p
	}
	var input *run.InputError
	if errors.As(err, &input) {
		return invalid(pointer(input.Field), input.Text)
	}
	for _, k := range known {
		if !errors.Is(err, k.err) {
			continue
		}
		switch {
		case k.say:
			return refuse(k.status, k.code, err.Error())
		case k.status == http.StatusNotFound:
			return errNotFound
		}
		return refuse(k.status, k.code, http.StatusText(k.status))
	}
	return refuse(http.StatusInternalServerError, types.Internal, "internal error: the master's log has the details under this request_id")
}

func invalid(pointer, detail string) *problem {
	return refuse(http.StatusUnprocessableEntity, types.Invalid, "a value is not valid", types.Detail{Pointer: pointer, Detail: detail})
}

// init has huma return problems for its own errors.
func init() {
	// huma's settings are global to the process; no other package of gobench uses it.
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError { return fromHuma(nil, status, msg, errs) }
	huma.NewErrorWithContext = func(ctx huma.Context, status int, msg string, errs ...error) huma.StatusError {
		return fromHuma(ctx, status, msg, errs)
	}
}

// fromHuma returns the problem for what huma found wrong in a request (400 or 422), or,
// with a status of 500 or more or 0, for a handler's error. It logs a handler's error that
// is answered with 500 or more, if ctx is not nil.
func fromHuma(ctx huma.Context, status int, msg string, errs []error) *problem {
	if status >= http.StatusInternalServerError || status == 0 {
		err := errors.Join(errs...)
		p := problemOf(err)
		if ctx != nil && p.Status >= http.StatusInternalServerError {
			requestOf(ctx.Context()).log.Error("request failed", slog.Any("error", err))
		}
		return p
	}
	p := refuse(status, types.Invalid, "a value is not valid")
	for _, err := range errs {
		d := huma.ErrorDetail{Location: "body", Message: err.Error()}
		var detailer huma.ErrorDetailer
		if errors.As(err, &detailer) {
			d = *detailer.ErrorDetail()
		}
		name, query := strings.CutPrefix(d.Location, "query.")
		switch {
		case query:
			p.Status, p.Code = http.StatusBadRequest, types.BadParameter
			p.Errors = append(p.Errors, types.Detail{Pointer: "?" + name, Detail: d.Message})
			continue
		case d.Message == validation.MsgUnexpectedProperty:
			p.Status, p.Code = http.StatusBadRequest, types.UnknownField
		case wrongType[d.Message] || unread(d.Message):
			if p.Code == types.Invalid {
				p.Status, p.Code = http.StatusBadRequest, types.Malformed
			}
			if unread(d.Message) {
				d.Message = "has a value of another type, or one that is too large for its type"
			}
		}
		p.Errors = append(p.Errors, types.Detail{Pointer: pointer(strings.TrimPrefix(strings.TrimPrefix(d.Location, "body"), ".")), Detail: d.Message})
	}
	if len(errs) == 0 {
		p.Detail = msg
	}
	p.Title = http.StatusText(p.Status)
	return p
}

// wrongType holds huma's messages for a value of the wrong type.
var wrongType = map[string]bool{
	validation.MsgExpectedBoolean: true, validation.MsgExpectedNumber: true, validation.MsgExpectedInteger: true,
	validation.MsgExpectedString: true, validation.MsgExpectedArray: true, validation.MsgExpectedObject: true,
	validation.MsgExpectedBase64String: true,
}

// unread reports whether a message is from encoding/json: the schema allows the value, its
// Go type does not.
func unread(message string) bool {
	return strings.HasPrefix(message, "json: ") || strings.HasPrefix(message, "illegal base64 ")
}

// pointer returns the RFC 6901 pointer, "/options/files/3/path", for a path such as
// "options.files[3].path"; "" for "".
func pointer(path string) string {
	if path == "" {
		return ""
	}
	path = strings.NewReplacer("~", "~0", "/", "~1", "[", ".", "]", "").Replace(path)
	return "/" + strings.ReplaceAll(path, ".", "/")
}

// complete returns a copy of p with the id and path of the request.
func (p *problem) complete(r *request) *problem {
	c := *p
	c.Request, c.Instance = r.id, r.path
	return &c
}

// write answers a request, of which nothing has been answered yet, with a problem. It
// removes headers that were set for a success.
func (p *problem) write(w http.ResponseWriter, r *request) {
	h := w.Header()
	for name, values := range p.GetHeaders() {
		h[name] = values
	}
	for _, name := range []string{"Content-Disposition", "Content-Length", "Etag"} {
		h.Del(name)
	}
	h.Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	b, _ := json.Marshal(p.complete(r).Problem) // plain data
	_, _ = w.Write(append(b, '\n'))
}
