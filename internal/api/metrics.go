package api

import (
	"context"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/gobench-io/gobench/internal/measure/hdr"
	"github.com/gobench-io/gobench/internal/run/version"
)

// healthz answers as long as the process runs.
func (s *Server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("ok\n"))
}

// readyz answers 200, "ready", if the master can take runs, and else 503 with Retry-After, "not
// ready", followed by ": REASON" for users and for this host only.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	err := s.master.Ready(r.Context())
	text := "ready\n"
	if err != nil {
		q := requestOf(r.Context())
		if text = "not ready\n"; q.caller != nil || local(r) {
			text = "not ready: " + err.Error() + "\n"
		}
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write([]byte(text))
}

// local reports whether a request comes from this host, and not through a proxy that says
// so in a header.
func local(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via"} {
		if len(r.Header.Values(name)) > 0 {
			return false
		}
	}
	ip, err := netip.ParseAddr(peer(r))
	return err == nil && ip.Unmap().IsLoopback()
}

// metrics serves the master's own metrics to Prometheus.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) { s.scrape.ServeHTTP(w, r) }

// figures returns the handler of /metrics: the master's figures, and those of its process and
// of Go. It must be called once the master is set.
func (s *Server) figures() http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), figures{s})
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{DisableCompression: true})
}

// figures is a prometheus.Collector of run.Figures.
type figures struct{ s *Server }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gobench_"+name, help, labels, nil)
}

var (
	descInfo    = describe("info", "Which gobench this is.", "version")
	descQueued  = describe("runs_queued", "Queued runs.")
	descActive  = describe("run_active", "1 while a run is active, else 0.")
	descAgents  = describe("agents", "Agents that are connected.")
	descBatches = describe("batches_total", "Batches of executors that were merged.")
	descRepeats = describe("batches_repeated_total", "Batches that were delivered again and skipped.")
	descBytes   = describe("batches_bytes_total", "Bytes of merged batches.")
	descIngest  = describe("batch_merge_seconds", "From the receipt of a batch until it was merged.")
	descAck     = describe("batch_commit_seconds", "From the receipt of a batch until it was committed.")
	descStreams = describe("api_streams", "Open streams of events, logs and profiles.")
)

var descriptions = []*prometheus.Desc{descInfo, descQueued, descActive, descAgents, descBatches, descRepeats, descBytes, descIngest, descAck, descStreams}

// Describe implements prometheus.Collector.
func (f figures) Describe(to chan<- *prometheus.Desc) {
	for _, d := range descriptions {
		to <- d
	}
}

// Collect implements prometheus.Collector: it reads the master's figures now, within 5 s, and
// sends a metric for each of descriptions; after an error only an invalid one.
func (f figures) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second) // a Collector gets no context
	defer cancel()
	n, err := f.s.master.Figures(ctx)
	if err != nil {
		to <- prometheus.NewInvalidMetric(descQueued, err)
		return
	}
	active := 0.0
	if n.Active != "" {
		active = 1
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v uint64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v))
	}
	gauge(descInfo, 1, strings.ToValidUTF8(version.Version, ""))
	gauge(descQueued, float64(n.Queued))
	gauge(descActive, active)
	gauge(descAgents, float64(n.Agents))
	gauge(descStreams, float64(f.s.streams.count()))
	counter(descBatches, n.Batches)
	counter(descRepeats, n.Repeats)
	counter(descBytes, n.Bytes)
	to <- histogram(descIngest, n.Ingest)
	to <- histogram(descAck, n.Ack)
}

// buckets are the upper bounds of the histograms in /metrics.
var buckets = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, time.Second, 2 * time.Second, 5 * time.Second,
}

// histogram returns a metric, in seconds and with buckets, of an encoded hdr.Histogram of
// nanoseconds; empty means no values. A damaged one is returned as an invalid metric.
func histogram(d *prometheus.Desc, encoded []byte) prometheus.Metric {
	var h hdr.Histogram
	if len(encoded) > 0 {
		if err := h.Decode(encoded); err != nil {
			return prometheus.NewInvalidMetric(d, err)
		}
	}
	counts := map[float64]uint64{}
	for _, b := range buckets {
		counts[b.Seconds()] = h.Count() - h.Above(int64(b))
	}
	return prometheus.MustNewConstHistogram(d, h.Count(), h.Mean()*float64(h.Count())/1e9, counts)
}
