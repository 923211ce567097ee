package api

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gobench-io/gobench/internal/run"
)

// archivesAtOnce is how many archives are imported at once.
const archivesAtOnce = 2

// export writes a run that has ended as an archive. An error before the first byte is the
// master's: it wraps run.ErrNotFound, or run.ErrConflict if the run has not ended.
func (s *Server) export(ctx context.Context, in *byID) (*huma.StreamResponse, error) {
	if _, err := s.master.Run(ctx, in.ID); err != nil {
		return nil, err
	}
	return streaming(func(ctx context.Context, w *recorder) error {
		attach(w, archiveType, in.ID+".tar.zst")
		return s.master.Export(ctx, in.ID, w)
	}), nil
}

// importRun reads an archive and stores its run as the request user's. The error is that of
// the master, which wraps run.ErrArchive if it is no archive of a run, or run.ErrConflict if
// the run exists, or it is a *problem if the archive is too large (413) or comes too slowly
// (408).
func (s *Server) importRun(ctx context.Context, _ *empty) (*body[run.Order], error) {
	q := requestOf(ctx)
	o, err := s.master.Import(ctx, q.http.Body, q.caller.user.Name)
	if err != nil {
		return nil, err
	}
	q.object = o.ID
	return answer(*o), nil
}
