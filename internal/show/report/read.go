package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gobench-io/gobench/internal/run"
)

// Read reads a file that JSON wrote and returns its result and its series. Each reading of
// the series opens the file again, and returns the first error of yield or of the file.
// Read returns an error if the file cannot be opened, is cut off before the series, or is
// not a result of this format.
func Read(path string) (*run.Result, Intervals, error) {
	fields := map[string]json.RawMessage{}
	err := walk(path, func(name string, value json.RawMessage) { fields[name] = value }, func(*json.Decoder) error { return errEnough })
	if err != nil && !errors.Is(err, errEnough) {
		return nil, nil, err
	}
	b, err := json.Marshal(fields)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	r := new(run.Result)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := r.Accept(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := checkWords(r); err != nil {
		return nil, nil, fmt.Errorf("%s is no result of a run: %w", path, err)
	}
	return r, func(yield func(run.Interval) error) error {
		return walk(path, func(string, json.RawMessage) {}, func(in *json.Decoder) error {
			var i run.Interval
			if err := in.Decode(&i); err != nil {
				return fmt.Errorf("%s: interval: %w", path, err)
			}
			return yield(i)
		})
	}, nil
}

// checkWords returns an error if a result's id is malformed, or its state, its verdict, the
// level of a reason or the type of a metric is not one that JSON writes. The id and the
// verdict may be empty.
func checkWords(r *run.Result) error {
	if r.ID != "" && !run.ValidID(r.ID) {
		return fmt.Errorf("its id is %q", r.ID)
	}
	switch r.State {
	case run.Compiling, run.Starting, run.Running, run.Stopping, run.Finished, run.Failed, run.Cancelled:
	default:
		return fmt.Errorf("its state is %q", r.State)
	}
	if _, ok := meanings[r.Verdict]; !ok && r.Verdict != "" {
		return fmt.Errorf("its verdict is %q", r.Verdict)
	}
	for _, x := range r.Reasons {
		if x.Level < run.Amber {
			return fmt.Errorf("a reason has level %q", x.Level)
		}
	}
	for _, m := range r.Metrics {
		if !m.Type.Known() {
			return fmt.Errorf("metric %q has type %q", m.Title, m.Type)
		}
	}
	return nil
}

// errEnough ends a walk before the series, which is the last field.
var errEnough = errors.New("enough")

// walk reads a result: it calls field with each field except the series, and interval with
// the decoder before each interval, which it must decode. It returns interval's error as it
// is; the others name the file, and one that is cut off is io.ErrUnexpectedEOF.
func walk(path string, field func(string, json.RawMessage), interval func(*json.Decoder) error) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := json.NewDecoder(bufio.NewReader(file))
	wrong := func(err error) error {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%s is no result of a run: %w", path, err)
	}
	if t, err := in.Token(); err != nil || t != json.Delim('{') {
		return wrong(err)
	}
	for in.More() {
		t, err := in.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return wrong(err)
		}
		if name != "intervals" {
			var value json.RawMessage
			if err := in.Decode(&value); err != nil {
				return wrong(err)
			}
			field(name, value)
			continue
		}
		if t, err := in.Token(); err != nil || t != json.Delim('[') {
			return wrong(err)
		}
		for in.More() {
			if err := interval(in); err != nil {
				return err
			}
		}
		if _, err := in.Token(); err != nil {
			return wrong(err)
		}
	}
	if _, err := in.Token(); err != nil {
		return wrong(err)
	}
	return nil
}
