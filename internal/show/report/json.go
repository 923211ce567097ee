package report

import (
	"bufio"
	"encoding/json"
	"io"

	"github.com/gobench-io/gobench/internal/run"
)

// JSON writes r and the intervals of each, which may be larger than memory, as one JSON
// document: docs/formats/result.md describes it. It returns the first error of each or of
// w; part of the document may then be written.
func JSON(w io.Writer, r *run.Result, each Intervals) error {
	head, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(head[:len(head)-2]) // all but the end of the object; bufio keeps its first error
	out.WriteString(",\n  \"intervals\": [")
	first := true
	err = each(func(i run.Interval) error {
		b, err := json.Marshal(i)
		if err != nil {
			return err
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteString("\n    ")
		_, err = out.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	out.WriteString("\n  ]\n}\n")
	return out.Flush()
}
