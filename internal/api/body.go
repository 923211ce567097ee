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
	emptyBody  = 1 << 10  // of a request that wants none

	archiveBody = 512 << 20 // archives of runs
)

// bigBodies is how many bodies of more than smallBody are in memory at once.
const bigBodies = 4

// readBody reads the whole body of a request within the limit of its route, and checks
// that it is what the route takes: JSON, or nothing where limit is 0. Nothing of it is
// believed beyond that it is JSON.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, *problem) {
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, refuse(http.StatusUnsupportedMediaType, types.UnsupportedMedia, "compressed bodies are not taken: send it without Content-Encoding")
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
		w.Header().Set("Connection", "close") // what is on its way is not read
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
	case err != nil: // a message that is not what it says must not be followed by another
		w.Header().Set("Connection", "close")
		return nil, refuse(http.StatusBadRequest, types.Malformed, "the body did not come whole")
	}
	if limit > 0 {
		return body, checkJSON(body)
	}
	if b := bytes.TrimSpace(body); len(b) > 0 && string(b) != "{}" {
		return nil, refuse(http.StatusBadRequest, types.Malformed, "no body is wanted here")
	}
	return nil, nil
}

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

// archiveType is that of a run's archive.
const archiveType = "application/zstd"

// archiveBodyOf lets the body of a request be read as it comes: within a limit, and with
// wait from one piece to the next.
func archiveBodyOf(out *recorder, r *http.Request, limit int64, wait time.Duration) (io.ReadCloser, *problem) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if e := r.Header.Get("Content-Encoding"); err != nil || media != archiveType || e != "" && !strings.EqualFold(e, "identity") {
		return nil, refuse(http.StatusUnsupportedMediaType, types.UnsupportedMedia, "send Content-Type: "+archiveType+": the archive that an export gave, as it is")
	}
	if r.ContentLength > limit {
		return nil, refuse(http.StatusRequestEntityTooLarge, types.TooLarge, fmt.Sprintf("the body may have %d bytes here", limit))
	}
	return &pieces{http.MaxBytesReader(out, r.Body, limit), out, wait}, nil
}

// pieces gives a body time from one piece to the next.
type pieces struct {
	io.ReadCloser
	out  *recorder
	wait time.Duration
}

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
