package master

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gobench-io/gobench/internal/local/history"
	"github.com/gobench-io/gobench/internal/measure/merge"
	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/wire"
)

// Export writes a run in a final state to w, as an archive of a run's folder
// (docs/formats/run.md): its result, its series as batches of one executor, and the output
// of its executors. It writes temporary files in Options.Dir first, and nothing to w before
// they are complete. The error is run.ErrConflict if the run is not over. After another
// error w may have received a part of the archive.
func (m *Master) Export(ctx context.Context, id string, w io.Writer) error {
	o, err := m.Run(ctx, id)
	if err != nil {
		return err
	}
	if !o.State.Final() || m.atWork(id) {
		return fmt.Errorf("%w: run %s is %s: wait for its end", run.ErrConflict, id, o.State)
	}
	if err := m.intake.flush(ctx); err != nil { // the run's last interval
		return err
	}
	r, err := m.Result(ctx, id)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(m.Dir, exportDir)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	h := history.Open(dir)
	folder, err := h.Create(id)
	if err != nil {
		return err
	}
	err = m.layOut(ctx, id, r, folder)
	if err = errors.Join(err, folder.Close()); err != nil {
		return fmt.Errorf("export run %s: %w", id, err)
	}
	return h.Export(id, w)
}

// layOut writes the files of a run's folder. The caller must close the folder, also after an
// error.
func (m *Master) layOut(ctx context.Context, id string, r *run.Result, folder *history.Folder) error {
	if err := m.asBatches(ctx, id, func(b *wire.Batch) error { return folder.Append(0, b) }); err != nil {
		return err
	}
	last := ""
	err := m.Log(ctx, run.LogQuery{Run: id}, func(p *run.LogPiece) error {
		_, err := folder.Log.Write(append([]byte(p.Head(last)), p.Data...))
		last = p.Executor
		return err
	})
	if err != nil {
		return err
	}
	return folder.Put(r)
}

// asBatches calls each with the series of a run, as batches of one executor in order; it
// makes no call for a run that has counted nothing. An error of each ends it and is
// returned.
func (m *Master) asBatches(ctx context.Context, id string, each func(*wire.Batch) error) error {
	state, executors, err := m.stored(ctx, id)
	if err != nil {
		return err
	}
	merger, err := merge.Restore(time.Duration(state.IntervalNs), state.Merged, executors)
	if err != nil {
		return fmt.Errorf("run %s: %w", id, err)
	}
	one := merger.Recount(each)
	err = m.Store.Series(ctx, run.SeriesQuery{Run: id}, func(p run.SeriesPart) error {
		return one.Add(merge.Part{From: p.From, To: p.To, Warmup: p.Warmup, Data: p.Data})
	})
	if err != nil {
		return err
	}
	return one.Close()
}
