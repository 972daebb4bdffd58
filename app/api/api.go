// Package api is the HTTP API for programs: diffusers' remote VAE, as its
// remote_decode and remote_encode send it, and jobs that take longer than a request
// should. Package serve serves the page. Start at New and API.ServeHTTP.
//
// Package job resolves what a job means, media reads and writes files, and vae runs
// it, as on the command line, so results equal the command line's bit for bit. The
// Host schedules the device among clients, including the page's sessions.
//
// A request holds one of a bounded number of places from its first byte to its last.
// It holds the device only while the device works for it: its input is complete
// before, and its output is stored until the client has read it, in memory if it is
// small, else in files with a total limit. Each job has a folder, named by its random
// number, with input, output and job.json, which a later start reads. Requests cannot
// name files.
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

// Host is who has the device.
type Host interface {
	// Turn waits until the device is the client's alone. After a device was lost
	// it gives a new one.
	Turn(ctx context.Context, client string) (*gpu.Device, error)
	// Done ends a turn. err is how its work ended: gpu.ErrDeviceLost is in it
	// where the device was lost, ErrPanic where its state is unknown.
	Done(err error)
}

// ErrPanic: a mistake of the engine's own, which ended one request.
var ErrPanic = errors.New("an internal error; see the server's output")

// Model is a checkpoint that is served.
type Model struct {
	Name     string // by which requests ask for it
	Path     string
	Settings vae.Settings
}

// Options choose what is answered.
type Options struct {
	Models []Model // the first is taken where a request names none
	// Budget bounds the memory on the device, in bytes; 0 is engine.Budget.
	Budget int64
	// Host bounds what offload takes of the machine's memory, in bytes; 0 is three
	// quarters of what is free there.
	Host int64
	// Places bounds the requests that are worked on or wait; 0 means 512. One
	// client may have three quarters of them.
	Places int
	// Disk bounds what lies in files, of requests and jobs together, in bytes; 0
	// means 10 GiB. One client may have three quarters of it.
	Disk int64
	// Folder is where jobs are kept over a restart; "" keeps them for as long as the
	// API is open.
	Folder string
	// Keep is how long a job that is over is kept, and one that nothing more is sent
	// of; 0 means a day. Where its owner's next job has no room the earliest go before.
	Keep time.Duration
	// Body bounds what a request may send at once, in bytes; 0 means 2 GiB.
	Body int64
	// Stall is how long a body or an answer may take, 0 means 30 seconds, besides a
	// second for every Rate bytes of it; 0 means 64 KiB. It is also how long nothing of
	// a body may come.
	Stall time.Duration
	Rate  int64
	// Allow says who asks, or with an HTTP status why it may not; open is for what
	// needs no token. nil lets everybody in.
	Allow func(r *http.Request, open bool) (client string, status int, why string)
	// Log is told what happens, if not nil: one line without an end.
	Log func(line string)
}

// API answers requests.
type API struct {
	o       Options
	host    Host
	models  *models
	places  places
	disk    *disk
	mux     *http.ServeMux
	jobs    *store
	metrics *metrics
	ctx     context.Context // of jobs; ends with Close
	stop    context.CancelFunc
	folder  *os.File // for pictures and videos on their way, while it is open; nil without models

	mu     sync.Mutex
	closed bool
	busy   sync.WaitGroup // of requests
}

// New reads the models' headers, without a device. The caller closes the API,
// after the last request.
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

// Close ends the jobs, waits for the requests that are left, whose connections are
// to be closed, and removes what lies in temporary files.
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
	err = errors.Join(err, a.folder.Close()) // Windows removes no folder that is open
	return errors.Join(err, os.RemoveAll(a.folder.Name()))
}

// PutAway takes the models off the device, during a turn of somebody else's.
func (a *API) PutAway(dev *gpu.Device) { a.models.putAway(dev) }

// Forget lets go of a device that is going to be closed, during a turn.
func (a *API) Forget(dev *gpu.Device) (err error) {
	defer a.caught(&err) // where its state is unknown
	return a.models.forget(dev)
}

// endpoint is one kind of request.
type endpoint struct {
	pattern string // of http.ServeMux
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

// Patterns are those of http.ServeMux that ServeHTTP is for.
func (a *API) Patterns() []string { return []string{"/v1/", "/healthz", "/metrics", "/openapi.json"} }

// ServeHTTP answers a request. What is wrong is told in JSON.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	if !a.begin() {
		a.fail(w, &problem{status: http.StatusServiceUnavailable, code: "ending", err: errors.New("the server ends")})
		return
	}
	defer a.busy.Done()
	handler, pattern := a.mux.Handler(r)
	if pattern != "" {
		a.mux.ServeHTTP(w, r) // which sets what the pattern matches
		return
	}
	n := &noted{ResponseWriter: w, status: http.StatusNotFound}
	handler.ServeHTTP(n, r)
	text := fmt.Sprintf("%.100q not found; /openapi.json lists the endpoints", r.URL.Path)
	if n.status == http.StatusMethodNotAllowed {
		text = fmt.Sprintf("%s is not for %.100q, expected %s", r.Method, r.URL.Path, h.Get("Allow"))
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

// noted keeps the status of an answer that is not sent.
type noted struct {
	http.ResponseWriter
	status int
}

func (n *noted) WriteHeader(status int)      { n.status = status }
func (n *noted) Write(b []byte) (int, error) { return len(b), nil }

// guard lets those in who may, and tells errors.
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
		if r.ContentLength == 0 { // else who reads the body sees to it; see receive
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
		}
		if err := e.handle(w, r, client); err != nil {
			a.fail(w, err)
		}
	})
}

// healthy says that the server is there.
func (a *API) healthy(w http.ResponseWriter, _ *http.Request, _ string) error {
	return tell(w, http.StatusOK, map[string]string{"status": "ok"})
}

// listModels tells what can be asked for.
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
			config = m.config // which is no such model
		}
		list = append(list, model{m.name, config})
	}
	return tell(w, http.StatusOK, list)
}

// file is a name in the API's folder that nothing has, for a picture or video on
// its way; remove takes it away.
func (a *API) file(ext string) (path string, remove func()) {
	path = filepath.Join(a.folder.Name(), newID()+ext)
	return path, func() { os.Remove(path) }
}

// patience is how long so many bytes may take on their way.
func (a *API) patience(n int64) time.Time {
	return time.Now().Add(a.o.Stall + time.Duration(n/a.o.Rate)*time.Second)
}

// names are paths that answers don't tell, and what stands for them.
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
