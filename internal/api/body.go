package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gobench-io/gobench/internal/api/types"
)

// Limits of bodies, in bytes.
const (
	smallBody  = 64 << 10
	sourceBody = 14 << 20 // sources at their limits, files in base64, and what stands beside them
	emptyBody  = 1 << 10  // of a request whose route takes no body

	archiveBody = 512 << 20 // archives of runs
)

// bigBodies is how many bodies of more than smallBody are in memory at once.
const bigBodies = 4

// readBody reads the body of a request within the limit of its route, in bytes; it is nil
// if limit is 0. It returns a problem if the body is compressed or of another type (415),
// too large (413), too slow (408), incomplete or not JSON (400), or, where limit is 0,
// neither empty nor {}. Values in the body are not checked.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *problem) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, refuse(http.StatusUnsupportedMediaType, types.UnsupportedMedia, "compressed bodies are not supported: send it without Content-Encoding")
	}
	if r.ContentLength == 0 && limit == 0 {
		return nil, nil
	}
	if limit > 0 {
		if p := checkType(r.Header.Values("Content-Type")); p != nil {
			return nil, p
		}
	}
	most := max(limit, emptyBody)
	tooLarge := refuse(http.StatusRequestEntityTooLarge, types.TooLarge, fmt.Sprintf("the body may have %d bytes here", limit))
	if r.ContentLength > most {
		w.Header().Set("Connection", "close") // the rest is not read
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var over *http.MaxBytesError
	var slow net.Error
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.As(err, &slow) && slow.Timeout():
		w.Header().Set("Connection", "close")
		return nil, refuse(http.StatusRequestTimeout, types.Timeout, "the body did not come in time")
	case err != nil: // a malformed message must not be followed by another
		w.Header().Set("Connection", "close")
		return nil, refuse(http.StatusBadRequest, types.Malformed, "the body is incomplete")
	}
	if limit > 0 {
		return body, checkJSON(body)
	}
	if b := bytes.TrimSpace(body); len(b) > 0 && string(b) != "{}" {
		return nil, refuse(http.StatusBadRequest, types.Malformed, "this route takes no body")
	}
	return nil, nil
}

// checkType returns a problem (415) unless values, those of Content-Type, are one:
// application/json, without parameters but a charset of UTF-8.
func checkType(values []string) *problem {
	wrong := refuse(http.StatusUnsupportedMediaType, types.UnsupportedMedia, "send Content-Type: application/json, in UTF-8")
	if len(values) != 1 {
		return wrong
	}
	media, parameters, err := mime.ParseMediaType(values[0])
	if err != nil || media != "application/json" {
		return wrong
	}
	for name, value := range parameters {
		if name != "charset" || !strings.EqualFold(value, "utf-8") {
			return wrong
		}
	}
	return nil
}

// archiveType is the media type of a run's archive.
const archiveType = "application/zstd"

// archiveBodyOf returns a reader of the body of a request, or a problem (415, 413) if its
// header is wrong. Read returns a *problem beyond limit bytes (413), or if a piece takes
// longer than wait (408). The body need not be read to its end.
func archiveBodyOf(out *recorder, r *http.Request, limit int64, wait time.Duration) (io.ReadCloser, *problem) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if e := r.Header.Get("Content-Encoding"); err != nil || media != archiveType || e != "" && !strings.EqualFold(e, "identity") {
		return nil, refuse(http.StatusUnsupportedMediaType, types.UnsupportedMedia, "send Content-Type: "+archiveType+": the archive that an export returned, unchanged")
	}
	if r.ContentLength > limit {
		return nil, refuse(http.StatusRequestEntityTooLarge, types.TooLarge, fmt.Sprintf("the body may have %d bytes here", limit))
	}
	return &pieces{http.MaxBytesReader(out, r.Body, limit), out, wait}, nil
}

// pieces is a body with a deadline for each piece. An error of Read is a *problem if the
// body is too large or too slow.
type pieces struct {
	io.ReadCloser
	out  *recorder
	wait time.Duration
}

// Read reads the next piece within wait. Its error is a *problem if the body is too large
// (413) or the piece too slow (408).
func (p *pieces) Read(b []byte) (int, error) {
	_ = p.out.control.SetReadDeadline(time.Now().Add(p.wait))
	n, err := p.ReadCloser.Read(b)
	_ = p.out.control.SetReadDeadline(time.Time{})
	var over *http.MaxBytesError
	if errors.As(err, &over) {
		err = refuse(http.StatusRequestEntityTooLarge, types.TooLarge, fmt.Sprintf("the body may have %d bytes here", over.Limit))
	} else if slow := net.Error(nil); errors.As(err, &slow) && slow.Timeout() {
		err = refuse(http.StatusRequestTimeout, types.Timeout, "the body did not come in time")
	}
	return n, err
}
