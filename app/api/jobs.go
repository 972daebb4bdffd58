package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"time"
)

// newJob answers POST /v1/jobs. The input is the body or, if the query gives its size,
// comes in parts.
func (a *API) newJob(w http.ResponseWriter, r *http.Request, client string) error {
	ask, err := a.jobRequest(r.URL.RawQuery)
	if err != nil {
		return err
	}
	size := ask.bytes()
	if size < 0 {
		size = r.ContentLength
	}
	switch {
	case size < 0:
		return &problem{status: http.StatusLengthRequired, code: "bad_request", err: errors.New("an input without Content-Length; an input in parts needs size")}
	case size == 0:
		return bad("an empty input: send it as the body, or send size in the query and then the parts")
	case ask.size > 0 && ask.bytes() != ask.size:
		return bad("size is %d, expected %d bytes as in the shape", ask.size, ask.bytes())
	case ask.size == 0 && r.ContentLength >= 0 && r.ContentLength != size:
		return bad("the body has %d bytes, expected %d", r.ContentLength, size)
	}
	leave, err := a.places.enter(client)
	if err != nil {
		return err
	}
	j, err := a.add(ask, r.URL.RawQuery, client, size, leave)
	if err != nil {
		leave()
		return err
	}
	if ask.size > 0 {
		a.rest(j)
	} else if err := a.part(w, r, j, 0, size); err != nil {
		a.drop(j)
		return err
	}
	w.Header().Set("Location", "/v1/jobs/"+j.state.ID)
	return a.tellJob(w, http.StatusCreated, j)
}

// rest makes a job in parts give up its place unless another part arrives soon: its
// sender may have gone. Callers hold upload, or no other goroutine has the job yet.
func (a *API) rest(j *work) { j.resting = time.AfterFunc(a.o.Stall, j.leave) }

// wake makes a job keep its place, or take one again, while a part arrives. Callers hold
// upload.
func (a *API) wake(j *work) (err error) {
	if j.resting != nil && j.resting.Stop() {
		return nil
	}
	leave, err := a.places.enter(j.client)
	if err == nil {
		j.leave = leave
	}
	return err
}

// drop removes a job that could not be created.
func (a *API) drop(j *work) {
	j.stop()
	j.leave()
	a.jobs.forget(j)
}

// tellJob answers with a job's state.
func (a *API) tellJob(w http.ResponseWriter, status int, j *work) error {
	s, _ := j.now()
	return tell(w, status, s)
}

// getJob answers GET /v1/jobs/{id}.
func (a *API) getJob(w http.ResponseWriter, r *http.Request, _ string) error {
	j, err := a.jobs.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	return a.tellJob(w, http.StatusOK, j)
}

// ranges matches the Content-Range header of a part.
var ranges = regexp.MustCompile(`^bytes (\d{1,18})-(\d{1,18})/(\d{1,18})$`)

// putInput answers PATCH /v1/jobs/{id}/input: the part of the input that follows what was
// received.
func (a *API) putInput(w http.ResponseWriter, r *http.Request, _ string) error {
	j, err := a.jobs.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	m := ranges.FindStringSubmatch(r.Header.Get("Content-Range"))
	if m == nil {
		return bad("Content-Range is %.60q, expected bytes FIRST-LAST/SIZE", r.Header.Get("Content-Range"))
	}
	var n [3]int64
	for i := range n {
		n[i], _ = strconv.ParseInt(m[i+1], 10, 64) // at most 18 digits, so it does not overflow
	}
	first, length, size := n[0], n[1]-n[0]+1, n[2]
	if !j.upload.TryLock() {
		return conflict("another part is still arriving: send one part at a time")
	}
	defer j.upload.Unlock()
	switch s, _ := j.now(); {
	case s.State != stateReceiving:
		return conflict("the job is %s and accepts no more input", s.State)
	case size != s.Size || length < 1 || first+length > size:
		return bad("Content-Range is bytes %d-%d/%d, expected a range of the input's %d bytes", first, n[1], size, s.Size)
	case r.ContentLength >= 0 && r.ContentLength != length:
		return bad("the body has %d bytes, expected %d as in Content-Range", r.ContentLength, length)
	case first != s.Received:
		return conflict("the part begins at byte %d, expected %d, where the received bytes end", first, s.Received)
	}
	if err := a.wake(j); err != nil {
		return err
	}
	err = a.part(w, r, j, first, length)
	if s, _ := j.now(); s.State == stateReceiving {
		a.rest(j)
	}
	if err != nil {
		return err
	}
	return a.tellJob(w, http.StatusOK, j)
}

// conflict refuses a request that the job's state does not allow.
func conflict(format string, args ...any) error {
	return &problem{status: http.StatusConflict, code: "conflict", err: fmt.Errorf(format, args...)}
}

// part receives bytes of a job's input and queues the job after the last. If a part
// breaks off, the bytes before stay.
func (a *API) part(w http.ResponseWriter, r *http.Request, j *work, first, length int64) error {
	if length > a.o.Body {
		return tooLarge("a body of %d bytes, expected at most %d: send it in parts", length, a.o.Body)
	}
	f, err := os.OpenFile(j.input(), os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	defer f.Close()
	if err := a.disk.room(j.client, length, false); err != nil {
		return err
	}
	body := a.body(w, r.Body, length)
	ended := context.AfterFunc(j.ctx, body.stop)
	n, err := io.Copy(&arriving{j, f, first, first, first + length}, io.LimitReader(body, length))
	if err == io.ErrUnexpectedEOF { // a body that ends early has too few bytes, in chunks too
		err = nil
	}
	if ended() && err == nil { // otherwise the server would wait for the rest before it answers
		body.done()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	j.keepFor(a.o.Keep)
	_ = j.reserve(first + n)
	_ = j.set(false, func(s *state) { s.Received = first + n })
	switch {
	case j.ctx.Err() != nil:
		return conflict("the job has ended and accepts no more input")
	case err != nil:
		return sender(err)
	case n < length:
		return bad("the body has %d bytes, expected %d", n, length)
	}
	if s, _ := j.now(); s.Received < s.Size {
		return nil
	}
	return a.queue(j)
}

// arriving writes the bytes of a job's input and reserves disk space as they arrive.
type arriving struct {
	j             *work
	f             *os.File
	at, room, end int64
}

func (w *arriving) Write(b []byte) (int, error) {
	if need := w.at + int64(len(b)); need > w.room {
		room := min(max(need, w.room+8<<20), w.end)
		if err := w.j.reserve(room); err != nil {
			return 0, err
		}
		w.room = room
	}
	n, err := w.f.WriteAt(b, w.at)
	w.at += int64(n)
	return n, err
}

// cancelJob answers DELETE /v1/jobs/{id}: it cancels an unfinished job and forgets a
// finished one.
func (a *API) cancelJob(w http.ResponseWriter, r *http.Request, _ string) error {
	j, err := a.jobs.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	over, received := false, false
	_ = j.set(false, func(s *state) {
		if over = s.over(); over {
			return
		}
		received = s.State != stateReceiving
		s.State, s.Error, s.Code = stateCancelled, "cancelled by request", stateCancelled
	})
	if over {
		a.jobs.forget(j)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	j.stop()
	if !received { // otherwise the job's goroutine ends it
		j.upload.Lock()
		defer j.upload.Unlock()
		j.end(a, errors.New("cancelled"))
	}
	return a.tellJob(w, http.StatusOK, j)
}

// events answers GET /v1/jobs/{id}/events with server-sent events: the state after every
// change, until the job has ended.
func (a *API) events(w http.ResponseWriter, r *http.Request, _ string) error {
	j, err := a.jobs.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // for nginx
	c := http.NewResponseController(w)
	beat := time.NewTicker(15 * time.Second)
	defer beat.Stop()
	for {
		s, changed := j.now()
		text, err := json.Marshal(s)
		if err != nil {
			return err
		}
		_ = c.SetWriteDeadline(time.Now().Add(a.o.Stall))
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", s.State, text); err != nil || s.over() {
			return nil // the client has gone
		}
		if c.Flush() != nil {
			return nil
		}
		for wait := true; wait; {
			select {
			case <-changed:
				wait = false
			case <-beat.C:
				_ = c.SetWriteDeadline(time.Now().Add(a.o.Stall))
				_, _ = io.WriteString(w, ":\n\n")
				_ = c.Flush()
			case <-r.Context().Done():
				return nil
			case <-a.ctx.Done():
				return nil
			}
		}
		select { // at most ten a second
		case <-time.After(100 * time.Millisecond):
		case <-r.Context().Done():
			return nil
		}
	}
}

// content answers GET /v1/jobs/{id}/content with the job's output: by range once the job
// is done, and for formats that stream while it runs.
func (a *API) content(w http.ResponseWriter, r *http.Request, _ string) error {
	j, err := a.jobs.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	s, _ := j.now()
	switch {
	case s.State == stateDone:
		return a.giveOut(w, r, j, s)
	case s.over():
		return conflict("the job is %s: %s", s.State, s.Error)
	case !streams(s.Output):
		return &problem{status: http.StatusConflict, code: "not_yet", err: fmt.Errorf("the job is %s, and %s cannot be read before it is done", s.State, s.Output), wait: time.Second}
	}
	return a.follow(w, r, j)
}

// headers sets the headers of content.
func (s state) headers(h http.Header) {
	kind := types[s.Output]
	if kind == "" {
		kind = "application/octet-stream"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", fmt.Sprintf(`attachment; filename="%s.%s"`, s.ID, s.Output))
	if s.Shape != nil {
		for name, value := range tensorHeader(s.Shape, s.Dtype) {
			h.Set(name, value)
		}
	}
}

// giveOut answers with a finished output.
func (a *API) giveOut(w http.ResponseWriter, r *http.Request, j *work, s state) error {
	f, err := os.Open(j.output())
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	defer f.Close()
	s.headers(w.Header())
	w.Header().Set("ETag", `"`+s.ID+`"`)
	_ = http.NewResponseController(w).SetWriteDeadline(a.patience(s.Bytes))
	http.ServeContent(w, r, "", s.Ended, f)
	return nil
}

// follow answers with an output as it grows. If the job fails, the connection breaks off,
// because an answer that has begun cannot be withdrawn.
func (a *API) follow(w http.ResponseWriter, r *http.Request, j *work) error {
	s, changed := j.now()
	for ; s.Bytes == 0 && !s.over(); s, changed = j.now() { // until the output has begun
		if err := a.await(r, changed); err != nil {
			return err
		}
	}
	if s.State != stateDone && s.over() {
		return conflict("the job is %s: %s", s.State, s.Error)
	}
	f, err := os.Open(j.output())
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	defer f.Close()
	s.headers(w.Header())
	c := http.NewResponseController(w)
	for at := int64(0); ; s, changed = j.now() {
		if s.State != stateDone && s.over() {
			panic(http.ErrAbortHandler)
		}
		for at < s.Bytes {
			part := min(s.Bytes-at, 1<<20)
			_ = c.SetWriteDeadline(a.patience(part))
			n, err := io.Copy(w, io.NewSectionReader(f, at, part))
			if at += n; err != nil || c.Flush() != nil {
				return nil // the client has gone
			}
		}
		if s.State == stateDone {
			return nil
		}
		if a.await(r, changed) != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// await waits for the state to change.
func (a *API) await(r *http.Request, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	case <-a.ctx.Done():
		return &problem{status: http.StatusServiceUnavailable, code: "ending", err: errors.New("the server is shutting down")}
	}
}
