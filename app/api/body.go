package api

import (
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// body reads a request's body and fails if the client pauses too long: a silent client
// holds a place and disk space that others wait for.
type body struct {
	from  io.Reader
	c     *http.ResponseController
	stall time.Duration
	end   time.Time // deadline for the whole body

	mu      sync.Mutex
	stopped bool
}

// body wraps a body of size bytes.
func (a *API) body(w http.ResponseWriter, from io.Reader, size int64) *body {
	return &body{from: from, c: http.NewResponseController(w), stall: a.o.Stall, end: a.patience(size)}
}

func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	if !b.stopped {
		next := time.Now().Add(b.stall)
		if next.After(b.end) {
			next = b.end
		}
		_ = b.c.SetReadDeadline(next) // a test's recorder has no deadline
	}
	b.mu.Unlock()
	n, err := b.from.Read(p)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		err = &broken{err}
	}
	return n, err
}

// broken is the error of a body that ended early.
type broken struct{ error }

func (b *broken) Unwrap() error { return b.error }

// sender converts an error of storing a body if its cause is that the body did not
// arrive.
func sender(err error) error {
	if _, ok := errors.AsType[*broken](err); !ok {
		return err
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return err
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &problem{status: http.StatusRequestTimeout, code: "too_slow", err: errors.New("the body did not arrive in time")}
	}
	return bad("the body was cut off: %w", err)
}

// stop makes reads fail at once.
func (b *body) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped = true
	_ = b.c.SetReadDeadline(time.Now())
}

// done removes the deadline. While a request waits, net/http reads its connection to
// notice a disconnect; a deadline would look like one.
func (b *body) done() { _ = b.c.SetReadDeadline(time.Time{}) }

// receive stores a body of size bytes. Its time is limited: a slow sender holds a place,
// but not the device.
func (a *API) receive(w http.ResponseWriter, r *http.Request, client string, size int64) (*spool, error) {
	if size > a.o.Body {
		return nil, tooLarge("a body of %d bytes, expected at most %d", size, a.o.Body)
	}
	if r.ContentLength >= 0 && r.ContentLength != size {
		return nil, bad("the body has %d bytes, expected %d", r.ContentLength, size)
	}
	s, err := a.disk.spool(client, size)
	if err != nil {
		return nil, err
	}
	body := a.body(w, http.MaxBytesReader(w, r.Body, size+1), size)
	if err := s.fill(body); err != nil {
		s.Close()
		return nil, sender(err)
	}
	body.done()
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	return s, nil
}

// send writes an answer within a time limit.
func (a *API) send(w http.ResponseWriter, header map[string]string, s *spool) error {
	_ = http.NewResponseController(w).SetWriteDeadline(a.patience(s.size))
	return reply(w, header, s)
}
