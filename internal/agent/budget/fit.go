package budget

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire"
)

// fit makes a batch of more than largest bytes as small as that: it compresses it, and then
// drops samples, shortens the texts of failures, and drops notes, until it is. A note of
// the batch says so. It returns an error if the counts alone are larger.
func (t *Thinner) fit(s *Sent) (err error) {
	const uncut = 1024 // no text has as many bytes
	b, notes, texts := s.Batch, s.Batch.Notes, uncut
	samples := len(b.Samples)
	for try := 0; proto.Size(s.Delivery()) > largest; try++ {
		switch {
		case try == 0 && s.Packed == nil: // compressed it may be small enough
		case len(b.Samples) > 0:
			b.Samples = b.Samples[:len(b.Samples)/2]
		case texts > 0:
			texts /= 4
			b.Failures = shorten(b.Failures, texts)
		case len(notes) > 0:
			notes = nil
		default:
			return fmt.Errorf("batch %d is too large to be sent: %d bytes, compressed, and at most %d are allowed", b.Seq, len(s.Packed), largest)
		}
		var missing []string
		if n := samples - len(b.Samples); n > 0 {
			missing = append(missing, fmt.Sprintf("%d samples of failures", n))
		}
		if texts < uncut {
			missing = append(missing, fmt.Sprintf("the texts of failures beyond %d bytes", texts))
		}
		if len(missing) > 0 {
			b.Notes = append(slices.Clip(notes), fmt.Sprintf("at %.1f s an executor had more to report than can be sent at once: its counts are complete, and missing are %s",
				float64(b.ToNs)/1e9, strings.Join(missing, " and ")))
		}
		if s.Body, err = (proto.MarshalOptions{Deterministic: true}).Marshal(b); err != nil {
			return err
		}
		s.Packed = t.codec.Pack(s.Body)
	}
	return nil
}

// shorten returns failures with texts of at most so many bytes, each kind once.
func shorten(failures []*wire.Failure, texts int) (all []*wire.Failure) {
	type kind struct{ source, class, text string }
	of := map[kind]*wire.Failure{}
	for _, f := range failures {
		k := kind{f.Source, f.Class, strings.ToValidUTF8(f.Text[:min(len(f.Text), texts)], "")}
		if of[k] == nil {
			of[k] = &wire.Failure{Source: k.source, Class: k.class, Text: k.text}
			all = append(all, of[k])
		}
		of[k].Count += f.Count
	}
	return all
}
