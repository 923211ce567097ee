package report

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/ui"
)

// maxPage is the size in bytes to which a page's series is limited: that of a long run is
// thinned until it fits.
const maxPage = 1_480_000

// fewestRows is how many rows thinning leaves at least.
const fewestRows = 120

// HTML writes r and the intervals of each as one page that browsers show without a network.
// All that comes from outside is data in it, never markup. The series is held in memory,
// thinned if it is long. It returns an error of each before it writes anything; after an
// error of w part of the page is written.
func HTML(w io.Writer, r *run.Result, each func(yield func(run.Interval) error) error) error {
	s := newSeries(r.Metrics)
	if err := each(func(i run.Interval) error { s.add(i); return nil }); err != nil {
		return err
	}
	result, err := json.Marshal(r) // it escapes <, > and &, so that nothing ends the element that contains it
	if err != nil {
		return err
	}
	first, err := json.Marshal(headlineOf(r))
	if err != nil {
		return err
	}
	before, after, ok := bytes.Cut(ui.Report, []byte("<!--run-->"))
	if !ok {
		return fmt.Errorf("ui/dist/report.html has no place for a run")
	}
	packed, err := s.pack(maxPage - len(ui.Report) - len(result))
	if err != nil {
		return err
	}
	for _, part := range [][]byte{before,
		[]byte(`<script type="application/json" id="result">`), result, []byte("</script>\n"),
		[]byte(`<script type="application/json" id="headline">`), first, []byte("</script>\n"),
		[]byte(`<script type="text/plain" id="series">`), packed, []byte("</script>\n"), after} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// pack returns the series compressed, in base64. It thins s until that size is at most
// limit or few rows are left, so the result may be longer.
func (s *series) pack(limit int) ([]byte, error) {
	for {
		plain, err := s.encode()
		if err != nil {
			return nil, err
		}
		var packed bytes.Buffer
		z, err := flate.NewWriter(&packed, flate.BestCompression)
		if err != nil {
			return nil, err
		}
		z.Write(plain) // to memory
		z.Close()
		if base64.StdEncoding.EncodedLen(packed.Len()) <= limit || len(s.taken) <= fewestRows {
			return base64.StdEncoding.AppendEncode(nil, packed.Bytes()), nil
		}
		s.thin()
	}
}
