package agent

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/gobench-io/gobench/internal/process"
	"github.com/gobench-io/gobench/internal/run/units"
	"github.com/gobench-io/gobench/internal/wire"
	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

// maxProfile is the largest size of a profile, in bytes.
const maxProfile = 256 << 20

// profile takes a profile of a running executor and stores it as a blob until the run is
// released. It blocks for as long as the profile takes. The blob's name is the kind of
// profile. It returns a *refusal if the executor is not armed or has ended, an error that
// wraps process.ErrNoLoad if there is no load, and another error if the profile is larger
// than maxProfile bytes.
func (a *Agent) profile(r *agentRun, p *agentpb.Profile) (*agentpb.Blob, error) {
	e := r.find(p.Executor)
	if e == nil || e.isOver() || !e.isArmed() {
		return nil, refuse(codeUnknown, "executor %d of run %s does not make load on agent %s", p.Executor, r.id, a.o.ID)
	}
	if !r.hold() {
		return nil, process.ErrNoLoad
	}
	defer r.drop()
	// The executor opens the file by its name, the agent reads the file that it has open. So
	// it does not matter if the executor replaces the name by a link.
	name := filepath.Join(r.box.Home(), fmt.Sprintf("profile-%d-%d", p.Executor, time.Now().UnixNano()))
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	defer os.Remove(name)
	if err := r.box.Chown(name); err != nil {
		return nil, err
	}
	if err := e.process.Profile(r.ctx, &wire.Profile{Kind: p.Kind, File: name, DurationNs: p.DurationNs}); err != nil {
		return nil, fmt.Errorf("%s profile of executor %d: %w", p.Kind, p.Executor, err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxProfile {
		return nil, fmt.Errorf("the %s profile of executor %d has %s, and at most %s are allowed: take a shorter one", p.Kind, p.Executor, units.Bytes(float64(info.Size())), units.Bytes(maxProfile))
	}
	sum, size, err := a.blobs.Put(io.LimitReader(file, maxProfile))
	if err != nil {
		return nil, fmt.Errorf("store the %s profile of executor %d: %w", p.Kind, p.Executor, err)
	}
	a.mu.Lock()
	a.profiles = append(a.profiles, sum)
	a.mu.Unlock()
	return &agentpb.Blob{Sha256: sum, Size: size, Name: p.Kind}, nil
}

// blobFile is a blob that the master fetches.
type blobFile struct {
	*os.File
	size int64
}

func (b blobFile) Size() int64 { return b.size }

// openBlob opens a profile of the run by its digest, in hexadecimal. It returns an error
// that wraps os.ErrNotExist for all other blobs. The caller must close it.
func (a *Agent) openBlob(sum string) (Blob, error) {
	a.mu.Lock()
	known := false
	for _, p := range a.profiles {
		known = known || p == sum
	}
	a.mu.Unlock()
	if !known {
		return nil, fmt.Errorf("agent %s has no profile %.80q: %w", a.o.ID, sum, os.ErrNotExist)
	}
	f, err := a.blobs.Open(sum)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return blobFile{f, info.Size()}, nil
}
