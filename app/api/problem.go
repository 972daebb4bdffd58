package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"tessera/app/job"
	"tessera/format/quote"
	"tessera/temporary"
)

// problem is an error with the HTTP answer that reports it.
type problem struct {
	status int
	code   string
	err    error
	wait   time.Duration // when to try again; 0: unknown
}

func (p *problem) Error() string { return p.err.Error() }
func (p *problem) Unwrap() error { return p.err }

// bad returns a problem for an invalid request.
func bad(format string, args ...any) error {
	return &problem{status: http.StatusBadRequest, code: "bad_request", err: fmt.Errorf(format, args...)}
}

// statuses are the HTTP statuses for the kinds of errors that end jobs; others are server
// errors.
var statuses = map[string]int{
	"bad_input": http.StatusBadRequest, "bad_option": http.StatusBadRequest, "flat": http.StatusBadRequest,
	"wrong_model": http.StatusBadRequest, "packed_size": http.StatusBadRequest, "program_only": http.StatusBadRequest,
	"too_large": http.StatusRequestEntityTooLarge, "out_of_memory": http.StatusRequestEntityTooLarge,
	"no_webgpu": http.StatusServiceUnavailable, "no_adapter": http.StatusServiceUnavailable, "device_lost": http.StatusServiceUnavailable,
	"cancelled": http.StatusServiceUnavailable,
}

// asProblem finds the HTTP answer for an error.
func asProblem(err error) *problem {
	if p, ok := errors.AsType[*problem](err); ok {
		return p
	}
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		err = fmt.Errorf("the body has more than %d bytes", large.Limit)
		return &problem{status: http.StatusRequestEntityTooLarge, code: "too_large", err: err}
	}
	if temporary.IsFull(err) {
		return &problem{status: http.StatusInsufficientStorage, code: "no_room", err: errors.New("the server's disk is full"), wait: time.Minute}
	}
	p := &problem{status: http.StatusInternalServerError, code: job.KindOf(err).Code, err: err}
	if status, ok := statuses[p.code]; ok {
		p.status = status
	}
	if p.status == http.StatusServiceUnavailable {
		p.wait = 5 * time.Second
	}
	return p
}

// statusClosed is nginx's status for a client that closed its connection too early.
const statusClosed = 499

// failure is the JSON of an error.
type failure struct {
	Error string `json:"error"`
	Code  string `json:"code"`
}

// failure formats a problem without the server's own paths.
func (a *API) failure(p *problem) failure {
	return failure{a.message(p.Error()), p.code}
}

// message removes the server's paths and package names from a text.
func (a *API) message(text string) string {
	return quote.Message(job.Plain(strings.NewReplacer(a.names()...).Replace(text)))
}

// fail sends an error to the client, and logs server errors for the owner.
func (a *API) fail(w http.ResponseWriter, err error) {
	if errors.Is(err, context.Canceled) { // the client cancelled, and may still read
		err = &problem{status: statusClosed, code: "closed", err: errors.New("the connection was closed for sending while the request waited: keep it open until the response arrives")}
	}
	p := asProblem(err)
	if p.status >= http.StatusInternalServerError {
		a.o.Log(fmt.Sprintf("a request failed: %v", err))
	}
	if p.wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.wait.Seconds()))))
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(a.o.Stall))
	_ = tell(w, p.status, a.failure(p)) // otherwise the client has gone
}

// tell answers with JSON.
func tell(w http.ResponseWriter, status int, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have gone
	return nil
}

// newID returns 128 random bits, so job numbers cannot be guessed.
func newID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
