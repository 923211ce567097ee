//go:build linux

package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gobench-io/gobench/internal/run"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// Issue point 2: the same master and agents on three nats-servers. The server that leads
// the deliveries is killed in the middle of a run: nothing is lost, and nothing counts
// twice.
func TestOnThreeNATSServers(t *testing.T) {
	t.Parallel()
	nodes, urls, creds := servers.NATSOfThree(t)
	c, target := NewHere(t, 0, "--nats", urls, "--nats-creds", creds), NewTarget(t)
	for range 2 {
		c.Join(t, "--nats-creds", creds)
	}
	id := c.start(t, steady(target.URL, 8), run.Options{Duration: 12})
	awaitLoad(t, target, 1) // both agents have one address
	c.Await(t, id, time.Minute, run.Running)

	nc, err := nats.Connect(urls, nats.UserCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	stream, err := js.Stream(ctx, "gb_deliveries")
	if err != nil {
		t.Fatal(err)
	}
	leader := stream.CachedInfo().Cluster.Leader
	for _, s := range nodes {
		if s.Name == leader {
			s.Kill()
		}
	}
	t.Logf("killed %s, which led the deliveries", leader)
	r := c.Finished(t, id, 2*time.Minute)
	undisturbed(t, r, target)
}
