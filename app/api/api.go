// Package api is the HTTP API for programs. It answers diffusers' remote VAE requests, as
// its remote_decode and remote_encode send them, and runs jobs that take longer than one
// request should. Package serve serves the page and mounts this API beside it:
//
//	a, err := api.New(host, api.Options{Models: []api.Model{{Name: "wan", Path: "wan.safetensors"}}})
//	...
//	for _, p := range a.Patterns() {
//		mux.Handle(p, a)
//	}
//
// Start at New and API.ServeHTTP. openapi.json lists the endpoints.
//
// Package job resolves what a job means, media reads and writes files, and vae runs the
// job. The command line uses the same packages, so both give the same bits. The Host
// schedules the device among clients, including the page's sessions.
//
// A request holds one of a bounded number of places from its first byte to its last. It
// holds the device only while the device works for it: its input is complete before, and
// its output is stored until the client has read it. Small outputs are stored in memory,
// larger ones in files with a total limit. Each job has a folder, named by its random
// number, with input, output and job.json; a later start reads that folder. Requests
// cannot name files.
package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"tessera/gpu"
	"tessera/temporary"
	"tessera/vae"
)

// Host schedules the device.
type Host interface {
	// Turn waits until the client has the device alone. After a device is lost, Turn
	// returns a new one.
	Turn(ctx context.Context, client string) (*gpu.Device, error)
	// Done ends a turn. err is how the work ended: it wraps gpu.ErrDeviceLost if the
	// device was lost, and ErrPanic if the device's state is unknown.
	Done(err error)
}

// ErrPanic reports a bug in the engine, which ended one request.
var ErrPanic = errors.New("an internal error; see the server's output")

// Model is a checkpoint that is served.
type Model struct {
	Name     string // requests select the model by it
	Path     string
	Settings vae.Settings
}

// Options configure the API.
type Options struct {
	Models []Model // the first is the default
	// Budget limits the memory on the device, in bytes; 0 is engine.Budget.
	Budget int64
	// Host limits the machine's memory that offload uses, in bytes; 0 is three quarters
	// of what is free.
	Host int64
	// Places limits the requests that run or wait; 0 means 512. One client may hold three
	// quarters of them.
	Places int
	// Disk limits the files of all requests and jobs, in bytes; 0 means 10 GiB. One
	// client may use three quarters of it.
	Disk int64
	// Folder keeps jobs over a restart; "" keeps them until the API is closed.
	Folder string
	// Keep is how long a finished job is kept, and a job whose input stopped arriving; 0
	// means a day. If its owner's next job needs the room, the oldest are removed
	// earlier.
	Keep time.Duration
	// Body limits the body of one request, in bytes; 0 means 2 GiB.
	Body int64
	// Stall limits the time of a body or an answer: Stall, by default 30 seconds, plus
	// one second for every Rate bytes, by default 64 KiB. Stall also limits the pause
	// between two pieces of a body.
	Stall time.Duration
	Rate  int64
	// Allow identifies the client, or refuses it with an HTTP status and a reason. open
	// marks endpoints that need no token. nil admits everybody.
	Allow func(r *http.Request, open bool) (client string, status int, why string)
	// Log receives one line per event, without a line break; nil drops them.
	Log func(line string)
}

// API is the HTTP handler.
type API struct {
	o       Options
	host    Host
	models  *models
	places  places
	disk    *disk
	mux     *http.ServeMux
	jobs    *store
	metrics *metrics
	ctx     context.Context // for jobs; Close cancels it
	stop    context.CancelFunc
	folder  *os.File // for temporary pictures and videos, open meanwhile; nil without models

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup // counts requests
}

// New reads the models' headers, without a device. The caller closes the API after the
// last request.
func New(host Host, o Options) (*API, error) {
	if o.Places == 0 {
		o.Places = 512
	}
	if o.Disk == 0 {
		o.Disk = 10 << 30
	}
	if o.Keep == 0 {
		o.Keep = 24 * time.Hour
	}
	if o.Body == 0 {
		o.Body = 2 << 30
	}
	if o.Stall == 0 {
		o.Stall = 30 * time.Second
	}
	if o.Rate == 0 {
		o.Rate = 64 << 10
	}
	if o.Allow == nil {
		o.Allow = func(r *http.Request, _ bool) (string, int, string) { return r.RemoteAddr, 0, "" }
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	a := &API{o: o, host: host, places: newPlaces(o.Places), disk: newDisk(o.Disk)}
	var err error
	if a.models, err = newModels(o.Models, o.Budget); err != nil {
		return nil, err
	}
	for _, m := range a.models.all {
		if doubt := m.config.Doubt(); doubt != "" {
			o.Log(m.name + ": " + doubt)
		}
	}
	if len(o.Models) > 0 {
		if a.folder, err = temporary.Mkdir(os.TempDir(), "tessera-serve", 0o700); err != nil {
			return nil, fmt.Errorf("api: %w", err)
		}
	}
	a.ctx, a.stop = context.WithCancel(context.Background())
	if a.jobs, err = a.openStore(o.Folder); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.disk.old = a.jobs.results
	a.metrics = newMetrics(a)
	a.busy.Add(1)
	go a.tidy()
	a.mux = http.NewServeMux()
	for _, e := range a.endpoints() {
		a.mux.Handle(e.pattern, a.guard(e))
	}
	return a, nil
}

// Close ends the jobs, waits for the remaining requests, whose connections the caller
// closes, and removes temporary files.
func (a *API) Close() error {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.stop()
	a.busy.Wait()
	var err error
	if a.jobs != nil {
		err = a.jobs.close()
	}
	if a.folder == nil {
		return err
	}
	err = errors.Join(err, a.folder.Close()) // Windows does not remove an open folder
	return errors.Join(err, os.RemoveAll(a.folder.Name()))
}

// PutAway unloads the models from the device, during another client's turn.
func (a *API) PutAway(dev *gpu.Device) { a.models.putAway(dev) }

// Forget releases a device that is about to be closed, during a turn.
func (a *API) Forget(dev *gpu.Device) (err error) {
	defer a.caught(&err) // the device's state may be unknown
	return a.models.forget(dev)
}

// endpoint is one method and path with its handler.
type endpoint struct {
	pattern string // for http.ServeMux
	open    bool   // needs no token
	handle  func(w http.ResponseWriter, r *http.Request, client string) error
}

func (a *API) endpoints() []endpoint {
	return []endpoint{
		{"POST /v1/decode", false, a.remoteDecode},
		{"POST /v1/encode", false, a.remoteEncode},
		{"POST /v1/jobs", false, a.newJob},
		{"GET /v1/jobs/{id}", false, a.getJob},
		{"DELETE /v1/jobs/{id}", false, a.cancelJob},
		{"PATCH /v1/jobs/{id}/input", false, a.putInput},
		{"GET /v1/jobs/{id}/events", false, a.events},
		{"GET /v1/jobs/{id}/preview", false, a.getPreview},
		{"GET /v1/jobs/{id}/content", false, a.content},
		{"GET /v1/models", false, a.listModels},
		{"GET /healthz", true, a.healthy},
		{"GET /metrics", false, a.tellMetrics},
		{"GET /openapi.json", true, a.tellOpenAPI},
	}
}

// Patterns are the http.ServeMux patterns that ServeHTTP handles.
func (a *API) Patterns() []string { return []string{"/v1/", "/healthz", "/metrics", "/openapi.json"} }

// ServeHTTP answers a request. Errors are JSON.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if !a.begin() {
		a.fail(w, &problem{status: http.StatusServiceUnavailable, code: "ending", err: errors.New("the server is shutting down")})
		return
	}
	defer a.busy.Done()
	handler, pattern := a.mux.Handler(r)
	if pattern != "" {
		a.mux.ServeHTTP(w, r) // it sets the pattern's path values
		return
	}
	n := &noted{ResponseWriter: w, status: http.StatusNotFound}
	handler.ServeHTTP(n, r)
	text := fmt.Sprintf("%.100q not found; /openapi.json lists the endpoints", r.URL.Path)
	if n.status == http.StatusMethodNotAllowed {
		text = fmt.Sprintf("method %s is not allowed for %.100q, expected %s", r.Method, r.URL.Path, h.Get("Allow"))
	}
	a.fail(w, &problem{status: n.status, code: "unknown", err: errors.New(text)})
}

// begin counts a request, unless the API is closed.
func (a *API) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		a.busy.Add(1)
	}
	return !a.closed
}

// noted keeps the status of an answer that is dropped.
type noted struct {
	http.ResponseWriter
	status int
}

func (n *noted) WriteHeader(status int)      { n.status = status }
func (n *noted) Write(b []byte) (int, error) { return len(b), nil }

// guard checks that the client may use the endpoint, and answers errors.
func (a *API) guard(e endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w, end := a.metrics.count(e.pattern, w)
		defer end()
		client, status, why := a.o.Allow(r, e.open)
		if status != 0 {
			if status == http.StatusUnauthorized {
				w.Header().Set("WWW-Authenticate", `Bearer realm="tessera", Basic realm="tessera"`)
			}
			a.fail(w, &problem{status: status, code: "refused", err: errors.New(why)})
			return
		}
		if r.ContentLength == 0 { // otherwise the reader of the body does this; see receive
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		}
		if err := e.handle(w, r, client); err != nil {
			a.fail(w, err)
		}
	})
}

// healthy reports that the server is up.
func (a *API) healthy(w http.ResponseWriter, _ *http.Request, _ string) error {
	return tell(w, http.StatusOK, map[string]string{"status": "ok"})
}

// listModels lists the models that requests can name.
func (a *API) listModels(w http.ResponseWriter, r *http.Request, _ string) error {
	q := newQuery(r.URL.RawQuery)
	as := q.one("as", append([]string{""}, vae.Kinds()...)...)
	if q.err != nil {
		return q.err
	}
	type model struct {
		Name   string     `json:"name"`
		Config vae.Config `json:"config"`
	}
	list := []model{}
	for _, m := range a.models.all {
		config, err := m.config.As(as)
		if err != nil {
			config = m.config // the model does not support this configuration
		}
		list = append(list, model{m.name, config})
	}
	return tell(w, http.StatusOK, list)
}

// file returns an unused name in the API's folder for a temporary picture or video.
// remove deletes the file.
func (a *API) file(ext string) (path string, remove func()) {
	path = filepath.Join(a.folder.Name(), newID()+ext)
	return path, func() { os.Remove(path) }
}

// patience is the deadline for transferring n bytes.
func (a *API) patience(n int64) time.Time {
	return time.Now().Add(a.o.Stall + time.Duration(n/a.o.Rate)*time.Second)
}

// names are the paths that answers must not contain, each with its replacement.
func (a *API) names() []string {
	var names []string
	if a.folder != nil {
		names = append(names, a.folder.Name()+string(filepath.Separator), "")
	}
	if a.jobs != nil && a.jobs.folder != "" {
		names = append(names, a.jobs.folder+string(filepath.Separator), "")
	}
	for _, m := range a.models.all {
		names = append(names, m.path, m.name)
	}
	return slices.Clip(names)
}
