package api

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/gobench-io/gobench/internal/api/types"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/show/report"
)

// streaming returns an answer whose body write writes piece by piece, after the handler has
// returned. An error before the first byte is answered as a problem; a later one closes the
// connection, so that a truncated answer does not look complete.
func streaming(write func(context.Context, *recorder) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(c huma.Context) {
		r, w := humago.Unwrap(c)
		out, q := w.(*recorder), requestOf(r.Context())
		err := write(r.Context(), out)
		if err == nil {
			return
		}
		p := problemOf(err)
		if p.Status == http.StatusInternalServerError || out.status != 0 && r.Context().Err() == nil {
			q.log.Error("request failed", slog.Any("error", err))
		}
		if out.status != 0 {
			panic(http.ErrAbortHandler)
		}
		p.write(out, q)
	}}
}

// attach sets the headers with which browsers save the body as a file and do not show it.
func attach(w http.ResponseWriter, media, name string) {
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
}

func (s *Server) result(ctx context.Context, in *byID) (*body[*run.Result], error) {
	r, err := s.master.Result(ctx, in.ID)
	return answer(r), err
}

type seriesQuery struct {
	ID     string  `path:"id" maxLength:"64"`
	Agent  string  `query:"agent" maxLength:"64" doc:"id; unset: all agents"`
	From   float64 `query:"from" minimum:"0" maximum:"1e8" doc:"seconds since the load began"`
	To     float64 `query:"to" minimum:"0" maximum:"1e8" doc:"unset: to the end"`
	Points int     `query:"points" minimum:"0" maximum:"100000" doc:"about this many points at most; unset: the finest stored"`
}

// series writes a run's intervals, in order, as they are read: one JSON object,
// types.Series. It returns a problem (400) if a time is not a number, and an error that
// wraps run.ErrNotFound without such a run. A failure after the first byte closes the
// connection.
func (s *Server) series(ctx context.Context, in *seriesQuery) (*huma.StreamResponse, error) {
	for name, v := range map[string]float64{"?from": in.From, "?to": in.To} {
		if math.IsNaN(v) {
			return nil, refuse(http.StatusBadRequest, types.BadParameter, "a parameter is not valid", types.Detail{Pointer: name, Detail: "is not a number"})
		}
	}
	if _, err := s.master.Run(ctx, in.ID); err != nil {
		return nil, err
	}
	q := run.SeriesQuery{Run: in.ID, Agent: in.Agent, From: seconds(in.From), To: seconds(in.To), Points: in.Points}
	return streaming(func(ctx context.Context, w *recorder) error {
		begin := func() error {
			w.Header().Set("Content-Type", "application/json")
			head, err := json.Marshal(types.Series{Run: in.ID, Agent: in.Agent, Intervals: []run.Interval{}})
			if err == nil {
				_, err = w.Write(head[:len(head)-len("]}")])
			}
			return err
		}
		err := s.master.Series(ctx, q, func(i run.Interval) error {
			sep := ","
			if w.status == 0 {
				if err := begin(); err != nil {
					return err
				}
				sep = ""
			}
			b, err := json.Marshal(i)
			if err == nil {
				_, err = w.Write(append([]byte(sep), b...))
			}
			return err
		})
		if err == nil && w.status == 0 {
			err = begin()
		}
		if err == nil {
			_, err = io.WriteString(w, "]}\n")
		}
		return err
	}), nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// media holds the media type of each format of a report.
var media = map[string]string{
	"json": "application/json", "csv": "text/csv; charset=utf-8", "xml": "application/xml",
	"md": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8",
}

type reportQuery struct {
	ID     string `path:"id" maxLength:"64"`
	Format string `query:"format" enum:"json,csv,xml,md,html" default:"html" doc:"xml is JUnit's"`
}

// report writes a run's report as a file in one of the formats of media; of a run that has
// not ended, the report so far. The error wraps run.ErrNotFound without such a run.
func (s *Server) report(ctx context.Context, in *reportQuery) (*huma.StreamResponse, error) {
	r, err := s.master.Result(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	name := in.ID + "." + in.Format
	format, _ := report.FormatOf(name)
	return streaming(func(ctx context.Context, w *recorder) error {
		attach(w, media[in.Format], name)
		return format.Write(w, r, func(yield func(run.Interval) error) error {
			return s.master.Series(ctx, run.SeriesQuery{Run: in.ID}, yield)
		})
	}), nil
}

type logQuery struct {
	ID     string `path:"id" maxLength:"64"`
	Agent  string `query:"agent" maxLength:"64" doc:"id; unset: all agents"`
	Offset int64  `query:"offset" minimum:"0" maximum:"1000000000000" doc:"bytes to skip"`
	Follow bool   `query:"follow" doc:"wait for more output until the run has ended"`
	Pieces bool   `query:"pieces" doc:"answer with application/jsonl: a line for each piece of output, with the executor and a position"`
	After  string `query:"after" maxLength:"50000" doc:"EXECUTOR:NEXT,... of the last piece of each executor; its output continues there"`
}

// position returns what the parameter after has, by executor; an empty map if it is unset. It
// returns a problem (400) if it is malformed.
func (q *logQuery) position() (map[string]int64, error) {
	after := map[string]int64{}
	for part := range strings.SplitSeq(q.After, ",") {
		if q.After == "" {
			break
		}
		name, text, _ := strings.Cut(part, ":")
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 || name == "" {
			return nil, refuse(http.StatusBadRequest, types.BadParameter, "a value is not valid", types.Detail{Pointer: "?after", Detail: "want EXECUTOR:NEXT,..."})
		}
		after[name] = n
	}
	return after, nil
}

// logOf writes what the executors of a run printed so far or, with Follow, until the run ends:
// as text, with LogPiece.Head between executors, or with Pieces as a line of JSON for each
// piece. Offset counts only if there is one executor and no After. It returns a problem (400)
// for a malformed After, and an error that wraps run.ErrNotFound without such a run.
func (s *Server) logOf(ctx context.Context, in *logQuery) (*huma.StreamResponse, error) {
	after, err := in.position()
	if err != nil {
		return nil, err
	}
	if _, err := s.master.Run(ctx, in.ID); err != nil {
		return nil, err
	}
	q := run.LogQuery{Run: in.ID, Agent: in.Agent, Offset: in.Offset, After: after, Follow: in.Follow}
	return streaming(func(_ context.Context, w *recorder) error {
		last := ""
		encode := func(p *run.LogPiece) ([]byte, error) {
			b := append([]byte(p.Head(last)), p.Data...)
			last = p.Executor
			return b, nil
		}
		if in.Pieces {
			encode = func(p *run.LogPiece) ([]byte, error) {
				b, err := json.Marshal(p)
				return append(b, '\n'), err
			}
			attach(w, "application/jsonl", in.ID+".jsonl")
		} else {
			attach(w, "text/plain; charset=utf-8", in.ID+".log")
		}
		w.WriteHeader(http.StatusOK)
		if err := w.control.Flush(); err != nil {
			return err
		}
		return s.master.Log(ctx, q, func(p *run.LogPiece) error {
			b, err := encode(p)
			if err == nil {
				_, err = w.Write(b)
			}
			if err == nil {
				err = w.control.Flush()
			}
			return err
		})
	}), nil
}

// pass copies r to w until r ends, which is not an error, and flushes each piece. It does not
// close r.
func pass(w *recorder, r io.Reader) error {
	if err := w.control.Flush(); err != nil {
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if err := w.control.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// profileLength is the default length of a profile, in seconds.
const profileLength = 30.0

// profile takes a profile of an executor of a run, over profileLength unless the request
// has another length, and writes it as a file. It returns a problem (422) if the kind is
// malformed; else the error is the master's, such as run.ErrConflict if the run is not
// active.
func (s *Server) profile(ctx context.Context, in *forRun[types.Profile]) (*huma.StreamResponse, error) {
	b := in.Body
	if !idForm.MatchString(b.Kind) {
		return nil, invalid("/kind", "is not a kind of profile")
	}
	if b.Seconds == 0 {
		b.Seconds = profileLength
	}
	requestOf(ctx).detail = b.Kind + " of agent " + b.Agent
	profile, err := s.master.Profile(ctx, in.ID, b.Agent, b.Kind, seconds(b.Seconds))
	if err != nil {
		return nil, err
	}
	return streaming(func(_ context.Context, w *recorder) error {
		defer profile.Close()
		attach(w, "application/octet-stream", in.ID+"-"+b.Kind+".pprof")
		w.WriteHeader(http.StatusOK)
		return pass(w, profile)
	}), nil
}
