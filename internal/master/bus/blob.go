package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/proto"

	"github.com/gobench-io/gobench/internal/wire/agentpb"
)

const (
	// part is the size of a part of a blob, in bytes. On a slow line, other messages wait
	// behind one part.
	part = 128 << 10
	// widest is the maximum number of parts in flight. A fetch begins with one, adds one
	// after each that arrived within quick, and halves the number after one that took slow.
	widest = 16
	quick  = 250 * time.Millisecond
	slow   = time.Second
	// serving is the number of parts that are read concurrently.
	serving = 4
)

// errDamaged means that a blob's content does not match its digest.
var errDamaged = errors.New("what came has another digest: it was damaged in transit, or is another file")

// Serve answers agents' requests for blobs until ctx ends, and then returns nil after the last
// call of open; it returns an error only if it can't subscribe. An agent may fetch any blob
// whose digest it knows. open is called for each part of a blob, up to four times
// concurrently, and Serve closes what it returns. An error of open ends the agent's Fetch with
// its text.
func (m *MasterConn) Serve(ctx context.Context, open func(sha256 string) (agentpb.File, error)) error {
	return m.serve(ctx, fetchSubject+"*", open, func(q *nats.Msg) bool {
		agent := agentOf(q.Subject, fetchSubject)
		return agent != "" && strings.HasPrefix(q.Reply, inboxPrefix+agent+".")
	})
}

// Serve answers the master's requests for blobs until ctx ends. It calls and returns like
// [MasterConn.Serve].
func (a *AgentConn) Serve(ctx context.Context, open func(sha256 string) (agentpb.File, error)) error {
	return a.serve(ctx, commandTo+a.id+".blob", open, func(q *nats.Msg) bool { return agentOf(q.Reply, answerTo) == a.id })
}

// serve answers requests for parts whose reply subject mayAnswer accepts, and ignores others,
// until ctx ends; see [MasterConn.Serve].
func (c *conn) serve(ctx context.Context, subject string, open func(string) (agentpb.File, error), mayAnswer func(*nats.Msg) bool) error {
	var wg sync.WaitGroup
	defer wg.Wait()
	turns := make(chan struct{}, serving)
	return c.listen(ctx, subject, func(q *nats.Msg) {
		var f agentpb.Fetch
		if err := proto.Unmarshal(q.Data, &f); err != nil || !mayAnswer(q) {
			return
		}
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			p, err := read(&f, open)
			if err != nil {
				p = &agentpb.Part{Error: err.Error()}
			}
			b, err := proto.Marshal(p)
			if err == nil {
				err = c.nc.Publish(q.Reply, b)
			}
			if err != nil {
				c.log.Warn("a part of a blob was not sent; it will be requested again", "error", err)
			}
		})
	})
}

// read returns the requested part, of 128 KiB or up to the end, with the size of the whole
// blob. It has no data if the offset is not within the blob. read closes the file.
func read(f *agentpb.Fetch, open func(string) (agentpb.File, error)) (*agentpb.Part, error) {
	if b, err := hex.DecodeString(f.Sha256); err != nil || len(b) != sha256.Size {
		return nil, fmt.Errorf("%q is no digest", f.Sha256)
	}
	file, err := open(f.Sha256)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &agentpb.Part{Size: file.Size()}
	if f.Offset < 0 || f.Offset >= p.Size {
		return p, nil
	}
	p.Data = make([]byte, min(part, p.Size-f.Offset))
	if _, err := file.ReadAt(p.Data, f.Offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return p, nil
}

// Fetch copies a blob of the master to w, from the byte offset on; nothing if offset is the
// end or later. Lost parts are requested again until ctx ends. It fails at once if the master
// can't read the blob, if the size is not b.Size (0: unknown), or if w fails. After an error w
// has the beginning of the rest, at which another Fetch can continue. The caller must check
// the digest.
func (a *AgentConn) Fetch(ctx context.Context, b *agentpb.Blob, offset int64, w io.Writer) error {
	return fetch(ctx, b, offset, w, func(ctx context.Context, f []byte) (*nats.Msg, error) {
		ctx, cancel := a.attempt(ctx, a.times.Part)
		defer cancel()
		return a.nc.RequestWithContext(ctx, fetchSubject+a.id, f)
	})
}

// Fetch copies a blob of an agent to w and checks its digest. While parts are lost or the
// agent is away it requests them again, until ctx ends. It fails at once if the agent can't
// read the blob, if the size is not b.Size (0: unknown), or if w fails; after an error w may
// have received a part or, with a wrong digest, all of it.
func (m *MasterConn) Fetch(ctx context.Context, agent string, b *agentpb.Blob, w io.Writer) error {
	if !validID(agent) {
		return fmt.Errorf("bus: %q is no agent", agent)
	}
	sum := sha256.New()
	err := fetch(ctx, b, 0, io.MultiWriter(w, sum), func(ctx context.Context, f []byte) (*nats.Msg, error) {
		reply, in, closed := m.asked.ask(agent)
		defer closed()
		if err := m.nc.PublishRequest(commandTo+agent+".blob", reply, f); err != nil {
			return nil, err
		}
		answer, err := await(ctx, in, m.times.Part)
		switch {
		case err != nil:
			return nil, err
		case answer == nil || noResponders(answer):
			return nil, nats.ErrNoResponders
		}
		return answer, nil
	})
	if err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != b.Sha256 {
		return fmt.Errorf("blob %.12s of agent %s: %w", b.Sha256, agent, errDamaged)
	}
	return nil
}

// arrival is a requested part.
type arrival struct {
	offset int64
	came   chan struct{} // closed when the fields below are set
	part   *agentpb.Part
	err    error
	took   time.Duration
}

// fetch copies a blob from an offset on to w, in order, with up to widest parts in flight,
// each requested by its own goroutine with ask. It returns after the last call of ask; if ctx
// ends, the error wraps ctx's. After an error w has the beginning. b.Size is checked unless it
// is 0, and the digest is not.
func fetch(ctx context.Context, b *agentpb.Blob, offset int64, w io.Writer, ask func(context.Context, []byte) (*nats.Msg, error)) error {
	fail := func(err error) error { return fmt.Errorf("fetch blob %.12s: %w", b.Sha256, err) }
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := func(at int64) *arrival {
		a := &arrival{offset: at, came: make(chan struct{})}
		wg.Go(func() {
			defer close(a.came)
			a.part, a.took, a.err = askPart(ctx, &agentpb.Fetch{Sha256: b.Sha256, Offset: at}, ask)
		})
		return a
	}
	coming := []*arrival{begin(offset)}
	for window, size := 1, int64(-1); ; {
		a := coming[0]
		coming = coming[1:]
		<-a.came
		if a.err != nil {
			return fail(a.err)
		}
		if size < 0 {
			size = a.part.Size
		}
		switch n := int64(len(a.part.Data)); {
		case b.Size > 0 && size != b.Size:
			return fail(fmt.Errorf("it has %d bytes there, and should have %d", size, b.Size))
		case a.part.Size != size:
			return fail(fmt.Errorf("it had %d bytes there, and has %d now", size, a.part.Size))
		case a.offset >= size:
			return nil // offset is the end
		case n == 0 || n > size-a.offset:
			return fail(fmt.Errorf("a part of %d bytes at %d of %d", n, a.offset, size))
		}
		if _, err := w.Write(a.part.Data); err != nil {
			return fail(err)
		}
		next := a.offset + int64(len(a.part.Data))
		if next == size {
			return nil
		}
		if len(coming) > 0 && coming[0].offset != next {
			return fail(fmt.Errorf("a part of %d bytes at %d, and %d were asked for", len(a.part.Data), a.offset, part))
		}
		switch {
		case a.took < quick:
			window = min(window+1, widest)
		case a.took > slow:
			window = max(window/2, 1)
		}
		for len(coming) < window {
			at := next + int64(len(coming))*part
			if at >= size {
				break
			}
			coming = append(coming, begin(at))
		}
	}
}

// askPart requests a part until it arrives or ctx ends, every 200 ms after an error of ask. If
// ctx ends, the error wraps ctx's. An error that the other side answers is returned at once.
// It also returns how long the last request took.
func askPart(ctx context.Context, f *agentpb.Fetch, ask func(context.Context, []byte) (*nats.Msg, error)) (*agentpb.Part, time.Duration, error) {
	b, err := proto.Marshal(f)
	if err != nil {
		return nil, 0, err
	}
	for {
		begun := time.Now()
		m, err := ask(ctx, b)
		if err == nil {
			p := new(agentpb.Part)
			if err := proto.Unmarshal(m.Data, p); err != nil {
				return nil, 0, err
			}
			if p.Error != "" {
				return nil, 0, errors.New(p.Error)
			}
			return p, time.Since(begun), nil
		}
		if pause(ctx, 200*time.Millisecond) != nil {
			return nil, 0, fmt.Errorf("%w (last: %v)", ctx.Err(), err)
		}
	}
}
