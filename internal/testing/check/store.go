package check

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"google.golang.org/protobuf/proto"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
	"github.com/gobench-io/gobench/internal/wire/compress"
)

// stored is the content of a store at one moment.
type stored struct {
	runs    []*stored1 // in the order of their numbers
	numbers int64      // the highest number assigned to a run
	orphans []string   // rows without an owner, as text
}

// stored1 is a stored run. Times are in ns since 1970, 0 if unset; those of parts in ns
// since the start of the load.
type stored1 struct {
	number                  int64
	id, state, cause        string
	version                 int64
	created, started, ended int64
	options                 run.Options
	active, final           bool
	step, newest            int64
	kept                    [2]int64 // levels 0 and 1 are stored from this time on
	transitions             []transition
	batches                 []batchKey
	ranges                  []batchRange
	executors               []*executorState
	placements              []*agentpb.Placement
	totals                  *merge.RunState // nil: no batch was merged
	result                  *run.Result     // nil: no result
	parts                   []*part
}

type transition struct {
	version   int64
	from, to  string
	cause, by string
	at        int64
}

type batchKey struct {
	executor   int
	epoch, seq uint64
	sum        uint64
}

type batchRange struct {
	executor    int
	epoch, high uint64
}

type executorState struct {
	executor   int
	epoch, seq uint64
	agent      string
	state      merge.SourceState
}

type part struct {
	id                int64
	agent             string
	level             int
	start, stop, step int64
	warmup, folded    bool
	batch             wire.Batch
}

// reader reads a store in one transaction.
type reader struct {
	ctx  context.Context
	conn *sql.Conn
	lite bool
	zip  *compress.Codec
}

// read reads the run with an id, or all if id is empty, of the store at name (a file of
// SQLite, or postgres://...) at one moment, without changing it. Deleted runs are left out.
// The error wraps errLook; a run that does not exist is one.
func read(ctx context.Context, name, id string) (*stored, error) {
	s, err := readAll(ctx, name, id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLook, err)
	}
	return s, nil
}

// readAll implements read.
func readAll(ctx context.Context, name, id string) (*stored, error) {
	driver, source, begin := "sqlite", name, "BEGIN"
	if strings.HasPrefix(name, "postgres://") || strings.HasPrefix(name, "postgresql://") {
		driver, begin = "pgx", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	} else {
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{"mode": {"ro"}, "_pragma": {"busy_timeout(10000)", "query_only(1)"}}.Encode()}
		source = u.String()
	}
	db, err := sql.Open(driver, source)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return nil, err
	}
	defer conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	zip, err := compress.New(compress.Largest)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx, conn, driver == "sqlite", zip}
	s := new(stored)
	if s.runs, err = r.runs(id); err != nil {
		return nil, err
	}
	for _, x := range s.runs {
		if err := r.run(x); err != nil {
			return nil, fmt.Errorf("run %s: %w", x.id, err)
		}
	}
	if err := r.each(`SELECT value FROM counters WHERE name = 'runs'`, nil, func(scan func(...any) error) error { return scan(&s.numbers) }); err != nil {
		return nil, err
	}
	s.orphans, err = r.orphans()
	return s, err
}

// each calls f for each row, with its Scan, and returns the first error of f, of the query or of
// reading a row. Errors of f and of the query have the query's text.
func (r *reader) each(query string, args []any, f func(scan func(...any) error) error) error {
	rows, err := r.conn.QueryContext(r.ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
	}
	return rows.Err()
}

// runs returns the rows of the run with an id, or of all if id is empty, in the order of their
// numbers, without deleted ones; run reads the rest. It is an error if there is no run of that
// id.
func (r *reader) runs(id string) (all []*stored1, err error) {
	query, args := `SELECT number, id, state, version, cause, created, started, ended, options, active, final, step, newest, fine_from, ten_from FROM runs WHERE deleted = 0`, []any(nil)
	if id != "" {
		query, args = query+` AND id = $1`, []any{id}
	}
	err = r.each(query+` ORDER BY number`, args, func(scan func(...any) error) error {
		x := new(stored1)
		var options string
		var active, final int
		if err := scan(&x.number, &x.id, &x.state, &x.version, &x.cause, &x.created, &x.started, &x.ended, &options, &active, &final, &x.step, &x.newest, &x.kept[0], &x.kept[1]); err != nil {
			return err
		}
		x.active, x.final = active == 1, final == 1
		all = append(all, x)
		return json.Unmarshal([]byte(options), &x.options)
	})
	if err == nil && id != "" && len(all) == 0 {
		err = fmt.Errorf("there is no run %q", id)
	}
	return all, err
}

// run reads what belongs to a run into x, which has its row from runs. Call it once for each:
// it appends.
func (r *reader) run(x *stored1) error {
	of := []any{x.number}
	err := r.each(`SELECT version, from_state, to_state, cause, by_whom, at FROM transitions WHERE run = $1 ORDER BY version`, of, func(scan func(...any) error) error {
		var t transition
		err := scan(&t.version, &t.from, &t.to, &t.cause, &t.by, &t.at)
		x.transitions = append(x.transitions, t)
		return err
	})
	if err != nil {
		return err
	}
	err = r.each(`SELECT executor, epoch, seq, sum FROM batches WHERE run = $1 ORDER BY executor, epoch, seq`, of, func(scan func(...any) error) error {
		var b batchKey
		var epoch, seq, sum int64
		err := scan(&b.executor, &epoch, &seq, &sum)
		b.epoch, b.seq, b.sum = uint64(epoch), uint64(seq), uint64(sum)
		x.batches = append(x.batches, b)
		return err
	})
	if err != nil {
		return err
	}
	err = r.each(`SELECT executor, epoch, high FROM batch_ranges WHERE run = $1 ORDER BY executor, epoch`, of, func(scan func(...any) error) error {
		var b batchRange
		var epoch, high int64
		err := scan(&b.executor, &epoch, &high)
		b.epoch, b.high = uint64(epoch), uint64(high)
		x.ranges = append(x.ranges, b)
		return err
	})
	if err != nil {
		return err
	}
	err = r.each(`SELECT executor, epoch, seq, agent, state FROM executors WHERE run = $1 ORDER BY executor`, of, func(scan func(...any) error) error {
		var epoch, seq int64
		var state []byte
		e := new(executorState)
		x.executors = append(x.executors, e)
		if err := scan(&e.executor, &epoch, &seq, &e.agent, &state); err != nil {
			return err
		}
		e.epoch, e.seq = uint64(epoch), uint64(seq)
		return proto.Unmarshal(state, &e.state)
	})
	if err != nil {
		return err
	}
	err = r.each(`SELECT state FROM totals WHERE run = $1`, of, func(scan func(...any) error) error {
		var state []byte
		if err := scan(&state); err != nil {
			return err
		}
		var record agentpb.RecordState
		if err := proto.Unmarshal(state, &record); err != nil {
			return err
		}
		x.placements, x.totals = record.Executors, new(merge.RunState)
		return proto.Unmarshal(record.Merged, x.totals)
	})
	if err != nil {
		return err
	}
	err = r.each(`SELECT data FROM results WHERE run = $1`, of, func(scan func(...any) error) error {
		var packed []byte
		if err := scan(&packed); err != nil {
			return err
		}
		text, err := r.zip.Unpack(packed)
		if err != nil {
			return err
		}
		x.result = new(run.Result)
		return json.Unmarshal(text, x.result)
	})
	if err != nil {
		return err
	}
	return r.each(`SELECT id, agent, level, start, stop, step, warmup, folded, data FROM series WHERE run = $1 ORDER BY level, agent, start, id`, of, func(scan func(...any) error) error {
		p := new(part)
		x.parts = append(x.parts, p)
		var warmup, folded int
		var packed []byte
		if err := scan(&p.id, &p.agent, &p.level, &p.start, &p.stop, &p.step, &warmup, &folded, &packed); err != nil {
			return err
		}
		p.warmup, p.folded = warmup == 1, folded == 1
		data, err := r.zip.Unpack(packed)
		if err != nil {
			return err
		}
		return proto.Unmarshal(data, &p.batch)
	})
}
