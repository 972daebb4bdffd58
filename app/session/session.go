// Package session runs the engine for one page: requests in, events and results out, as
// in web/protocol.js. The caller transports the messages: a worker in a browser, a
// websocket in the native program.
//
//	s := session.New(conn, host, session.Options{Kind: "native"})
//	defer s.Close()
//	for ... {
//		if err := s.Receive(header, payload); err != nil {
//			break // the page breaks the protocol
//		}
//	}
//
// Start at New, Session.Receive and Session.Close.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"

	"tessera/app/job"
	"tessera/format/json"
	"tessera/format/known"
	"tessera/format/quote"
	"tessera/gpu"
	"tessera/vae"
)

const (
	// Version of the messages, equal to web/protocol.js's.
	Version = 3
	// InFlight is how many pictures may be on their way to the page.
	InFlight = 4

	maxWaiting = 64 // requests of a page
)

// ErrPanic reports a bug in the engine, which ended one job.
var ErrPanic = errors.New("an internal error; see the engine's output")

// Conn is the connection to the page. Several goroutines call Send, which may block while
// the page is slow. The caller may reuse header and payload after it returns.
type Conn interface {
	Send(header, payload []byte) error
}

// Host is what sessions share, above all the device, which one session uses at a time.
type Host interface {
	// Info describes the adapter, without waiting for a turn.
	Info(ctx context.Context) (gpu.Info, error)
	// Turn waits until this session has the device alone. queued receives the number of
	// turns before it at each change; it must not block the host. After a device is lost,
	// Turn returns a new one.
	Turn(ctx context.Context, queued func(position int)) (*gpu.Device, error)
	// Done ends a turn. err is how the job ended: it wraps gpu.ErrDeviceLost if the
	// device was lost, and ErrPanic if the device's state is unknown.
	Done(err error)
	// Reading waits for this session's turn to read headers, which may take memory. done
	// ends the turn.
	Reading(ctx context.Context) (done func(), err error)
	// Crowded reports that other sessions need the device's memory: the session unloads
	// its weights between jobs.
	Crowded() bool
	// Open opens one of the files that the host offers by path.
	Open(path string) (r io.ReaderAt, size int64, close func() error, err error)
}

// Options are common to all sessions of a host.
type Options struct {
	Kind      string                              // "browser" or "native"
	Spool     func(size int64) (vae.Spool, error) // see vae.Internals; nil is its default
	HostBytes func() int64                        // the engine's own memory; nil: Go's runtime reports it
	MaxAnswer int                                 // most bytes in one message of the page; 0 is no limit
	Choose    vae.Chooser                         // see vae.KernelSettings
}

// Session serves one page.
type Session struct {
	conn Conn
	host Host
	o    Options

	ctx   context.Context
	stop  context.CancelFunc
	jobs  chan *request // open, measure, decode, encode, roundtrip
	quick chan *request // device, plan, inspect
	idle  sync.WaitGroup

	mu       sync.Mutex
	pending  map[int]*request // waiting or running, by id
	reads    map[int]question
	lastRead int
	planner  *vae.Model // the open checkpoint, without a device
	stats    gpu.Stats  // at the session's last update

	checkpoint *checkpoint // of planner; only the jobs goroutine uses it
}

// New starts a session for a page.
func New(conn Conn, host Host, o Options) *Session {
	s := &Session{
		conn: conn, host: host, o: o,
		jobs: make(chan *request, maxWaiting), quick: make(chan *request, maxWaiting),
		pending: map[int]*request{}, reads: map[int]question{},
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.idle.Go(func() { s.serve(s.jobs) })
	s.idle.Go(func() { s.serve(s.quick) })
	return s
}

// Close cancels running jobs and returns when the session has released everything.
// Conn.Send must not call it.
func (s *Session) Close() {
	s.stop()
	s.idle.Wait()
	if s.checkpoint != nil {
		s.checkpoint.close(s)
		s.checkpoint = nil
	}
}

// Idle reports whether the page has no pending request.
func (s *Session) Idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending) == 0
}

// Receive handles a message of the page. It does not block, and takes ownership of
// payload. After an error, which means that the page breaks the protocol, close the
// connection.
func (s *Session) Receive(header, payload []byte) error {
	r := &request{}
	if err := json.Unmarshal(header, r); err != nil {
		return fmt.Errorf("session: message: %w", err)
	}
	switch r.Type {
	case "bytes":
		s.answered(r, payload)
		return nil
	case "ack":
		s.acknowledged(r)
		return nil
	case "cancel":
		s.cancel(r.ID)
		return nil
	case "close":
		s.stop()
		return nil
	case "open", "measure", "decode", "encode", "roundtrip":
		return s.enqueue(s.jobs, r)
	case "device", "plan", "inspect":
		return s.enqueue(s.quick, r)
	}
	return fmt.Errorf("session: message of unknown type %.40q", r.Type)
}

func (s *Session) enqueue(queue chan *request, r *request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ID <= 0 || s.pending[r.ID] != nil {
		return fmt.Errorf("session: request id %d, expected a new positive number", r.ID)
	}
	r.ctx, r.stop = context.WithCancel(s.ctx)
	r.credit = make(chan struct{}, InFlight)
	select {
	case queue <- r:
		s.pending[r.ID] = r
		return nil
	default:
		r.stop()
		return errors.New("session: too many requests are waiting")
	}
}

func (s *Session) cancel(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.pending[id]; r != nil {
		r.stop()
	}
}

func (s *Session) acknowledged(r *request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if job := s.pending[r.ID]; job != nil {
		select {
		case <-job.credit:
		default:
		}
	}
}

// serve answers requests one after another.
func (s *Session) serve(queue chan *request) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case r := <-queue:
			value, err := s.answer(r)
			if err == nil {
				err = s.send(result{about("result", r.ID), value}, nil)
			} else {
				err = s.send(failure{about("error", r.ID), job.KindOf(err).Code, quote.Message(job.Plain(err.Error())), quote.Message(job.Plain(known.Detail(err)))}, nil)
			}
			s.mu.Lock()
			delete(s.pending, r.ID)
			s.mu.Unlock()
			r.stop()
			if err != nil {
				s.stop() // the page is gone
			}
		}
	}
}

// answer executes a request.
func (s *Session) answer(r *request) (value any, err error) {
	defer caught(&err)
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	switch r.Type {
	case "device":
		return s.device(r)
	case "plan":
		return s.plan(r)
	case "inspect":
		return s.inspect(r)
	case "open":
		return s.open(r)
	case "measure":
		return s.measure(r)
	}
	return s.run(r)
}

// caught turns a panic into an error, so that it ends one job and not everybody's. It
// cannot catch what ends a Go program without a panic, such as running out of memory, or
// a fault in the driver.
func caught(err *error) {
	if p := recover(); p != nil {
		debug.PrintStack()
		*err = fmt.Errorf("session: %v: %w", p, ErrPanic)
	}
}

// send sends a message to the page.
func (s *Session) send(header any, payload []byte) (err error) {
	defer caught(&err)
	return s.conn.Send(json.Marshal(header), payload)
}
