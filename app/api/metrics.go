package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the Prometheus metrics.
type metrics struct {
	registry *prometheus.Registry
	handler  http.Handler
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	device   *prometheus.HistogramVec
	frames   *prometheus.CounterVec
}

func newMetrics(a *API) *metrics {
	long := prometheus.ExponentialBuckets(0.01, 4, 10) // up to 44 minutes
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tessera_requests_total", Help: "Requests by endpoint and HTTP status.",
		}, []string{"endpoint", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tessera_request_seconds", Help: "Time from a request's headers to the end of its response.", Buckets: long,
		}, []string{"endpoint"}),
		device: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tessera_device_seconds", Help: "Device time of a request or job, by model.", Buckets: long,
		}, []string{"model"}),
		frames: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tessera_frames_total", Help: "Frames decoded or encoded, by model and direction.",
		}, []string{"model", "direction"}),
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.seconds, m.device, m.frames, jobsCollector{a},
		gauge("tessera_places", "Limit of running and waiting requests and jobs.", func() float64 { return float64(a.o.Places) }),
		gauge("tessera_places_taken", "Running and waiting requests and jobs.", func() float64 { return float64(a.places.count()) }),
		gauge("tessera_disk_bytes", "Limit of disk space for requests and jobs.", func() float64 { return float64(a.o.Disk) }),
		gauge("tessera_disk_free_bytes", "Free part of the disk space for requests and jobs.", func() float64 { return float64(a.disk.left()) }),
		gauge("tessera_models_loaded", "Models with weights on the device.", func() float64 { return float64(a.Loaded()) }),
	)
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return m
}

// jobsCollector reports how many jobs are in each state.
type jobsCollector struct{ *API }

var jobsDesc = prometheus.NewDesc("tessera_jobs", "Jobs by state.", []string{"state"}, nil)

func (c jobsCollector) Describe(ch chan<- *prometheus.Desc) { ch <- jobsDesc }

func (c jobsCollector) Collect(ch chan<- prometheus.Metric) {
	n := c.jobs.count()
	for _, state := range []string{stateReceiving, stateQueued, stateRunning, stateDone, stateFailed, stateCancelled, stateInterrupted} {
		ch <- prometheus.MustNewConstMetric(jobsDesc, prometheus.GaugeValue, float64(n[state]), state)
	}
}

// counted records the status of an answer.
type counted struct {
	http.ResponseWriter
	status int
}

// WriteHeader records the first status.
func (c *counted) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
	}
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the writer below.
func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// count counts a request when it ends.
func (m *metrics) count(endpoint string, w http.ResponseWriter) (noted *counted, end func()) {
	begun := time.Now()
	noted = &counted{ResponseWriter: w}
	return noted, func() {
		status := noted.status
		if status == 0 {
			status = http.StatusOK // or the client has gone
		}
		m.requests.WithLabelValues(endpoint, strconv.Itoa(status)).Inc()
		m.seconds.WithLabelValues(endpoint).Observe(time.Since(begun).Seconds())
	}
}

// tellMetrics answers GET /metrics.
func (a *API) tellMetrics(w http.ResponseWriter, r *http.Request, _ string) error {
	a.metrics.handler.ServeHTTP(w, r)
	return nil
}
