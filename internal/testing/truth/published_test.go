//go:build linux

package truth

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/gobench-io/gobench/internal/testing/binary"
	"github.com/gobench-io/gobench/internal/testing/long"
	"github.com/gobench-io/gobench/internal/testing/repo"
	"github.com/gobench-io/gobench/internal/testing/servers"
)

// TestPublishedScenarios runs the scenarios of the article and the first README as
// they were printed, against a real nginx at localhost:8080, in its own network.
func TestPublishedScenarios(t *testing.T) {
	t.Parallel()
	servers.OwnNetwork(t, publishedScenarios)
}

func publishedScenarios(t *testing.T) {
	// S0 prints. Its users never look at their context.
	t.Run("article", func(t *testing.T) {
		t.Parallel()
		r, printed := binary.RunScenario(t, repo.Path(t, "testdata/scenario/s0/scenario.go"), "1s")
		if n := strings.Count(printed, "tic toc"); n < 12 {
			t.Errorf("it printed %d times, want 12 or more", n)
		}
		if r.Config.Classes[0].Users != 12 || !strings.Contains(strings.Join(r.Notes, "\n"), "12 users of class f went on") {
			t.Errorf("classes %v, notes %q", r.Config.Classes, r.Notes)
		}
	})
	// S2 sends 50 requests a second, by Poisson pauses. At full size four runs side by side
	// make 100 s of it: 5,000 requests, of which 5 % is 3.5 standard deviations. A busy
	// machine lowers the rate, so that the short form only requires an answer.
	t.Run("readme", func(t *testing.T) {
		t.Parallel()
		nginx := servers.Nginx(t, "listen 127.0.0.1:8080;")
		runs, length := 1, "1s"
		if long.Run {
			runs, length = 4, "25s"
		}
		var mu sync.Mutex
		var seconds float64
		var answered int64
		var wg sync.WaitGroup
		for range runs {
			wg.Go(func() {
				r, _ := binary.RunScenario(t, repo.Path(t, "testdata/scenario/s2/scenario.go"), length)
				mu.Lock()
				defer mu.Unlock()
				seconds += r.Seconds
				answered += binary.Total(r, "home.http_ok")
				if n := binary.Total(r, "home.http_fail") + binary.Total(r, "home.http_other_fail"); n != 0 {
					t.Errorf("%d requests failed", n)
				}
			})
		}
		wg.Wait()
		if rate := float64(answered) / seconds; answered == 0 || long.Run && math.Abs(rate-50) > 2.5 {
			t.Errorf("%d requests in %.1f s: %.1f/s, want 50 +- 5 %%", answered, seconds, rate)
		}
		nginx.Stop(t)
		if logged := len(nginx.Log(t)); int64(logged) != answered {
			t.Errorf("nginx answered %d requests, the runs counted %d", logged, answered)
		}
	})
}
