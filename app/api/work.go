package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tessera/media"
	"tessera/temporary"
)

// States of a job.
const (
	stateReceiving   = "receiving"   // its input arrives in parts
	stateQueued      = "queued"      // it waits for the device
	stateRunning     = "running"     // it has the device
	stateDone        = "done"        // its content is complete
	stateFailed      = "failed"      // error and code say why
	stateCancelled   = "cancelled"   // by DELETE
	stateInterrupted = "interrupted" // the server ended before the job did
)

// states are all states.
var states = []string{stateReceiving, stateQueued, stateRunning, stateDone, stateFailed, stateCancelled, stateInterrupted}

// progress is how much of a job is done.
type progress struct {
	Stage  string  `json:"stage"`
	Done   float64 `json:"done"` // of the stage, 0 to 1
	Frame  int     `json:"frame"`
	Frames int     `json:"frames"`
}

// result describes a finished job.
type result struct {
	Frames  int     `json:"frames,omitempty"`
	Height  int     `json:"height,omitempty"`
	Width   int     `json:"width,omitempty"`
	FPS     float64 `json:"fps,omitempty"`
	Latent  []int   `json:"latent,omitempty"`
	Scale   string  `json:"scale,omitempty"`
	Seconds float64 `json:"seconds"`
	Quality *scores `json:"quality,omitempty"`
}

// scores measure a round trip against the original.
type scores struct {
	PSNR *float64 `json:"psnr_db"` // null if nothing differs
	SSIM float64  `json:"ssim"`
}

// state is a job's state as clients read it; job.json keeps it.
type state struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	Model    string    `json:"model"`
	State    string    `json:"state"`
	Created  time.Time `json:"created"`
	Ended    time.Time `json:"ended,omitzero"`
	Expires  time.Time `json:"expires,omitzero"` // when the server forgets it
	Size     int64     `json:"size"`             // of the input, in bytes
	Received int64     `json:"received"`         // bytes of Size
	Output   string    `json:"output"`           // format
	Bytes    int64     `json:"bytes"`            // of the content so far
	Shape    []int     `json:"shape,omitempty"`  // if the content is a tensor
	Dtype    dtype     `json:"dtype,omitempty"`
	Preview  string    `json:"preview,omitempty"` // format of the preview, while there is one
	Progress *progress `json:"progress,omitempty"`
	Result   *result   `json:"result,omitempty"`
	Error    string    `json:"error,omitempty"`
	Code     string    `json:"code,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	Notes    []string  `json:"notes,omitempty"` // choices that the server made
}

// over reports whether the job has ended.
func (s state) over() bool {
	switch s.State {
	case stateReceiving, stateQueued, stateRunning:
		return false
	}
	return true
}

// kept is the content of job.json.
type kept struct {
	state
	Query  string `json:"query"` // of the request that made the job
	Client string `json:"client"`
}

// work is one job.
type work struct {
	folder string
	query  string
	client string
	ask    *jobRequest
	ctx    context.Context
	stop   context.CancelFunc
	api    *API
	leave  func() // gives up the place; may be called again

	upload  sync.Mutex  // serialises parts
	resting *time.Timer // gives up the place between two parts; nil: the job has none

	mu           sync.Mutex
	previewShape []int // if the preview is a tensor
	state        state
	taken        int64         // reserved bytes on the disk
	due          time.Time     // when the job is forgotten or, without further input, given up; by the monotonic clock
	changed      chan struct{} // closed and replaced at each change of state
}

// now returns the state and a channel that closes when it changes.
func (j *work) now() (state, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.state, j.changed
}

// set changes the state, and stores it in job.json if keep is set.
func (j *work) set(keep bool, change func(*state)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.state)
	close(j.changed)
	j.changed = make(chan struct{})
	if !keep {
		return nil
	}
	return j.keep()
}

// keepFor sets when the job is forgotten. It uses the monotonic clock, so changes of the
// date do not matter.
func (j *work) keepFor(d time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.due = time.Now().Add(max(0, min(d, j.api.o.Keep)))
}

// isDue reports whether that time has passed.
func (j *work) isDue(now time.Time) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return now.After(j.due)
}

// keep writes job.json. Callers hold mu.
func (j *work) keep() error {
	s := j.state
	s.Progress, s.Preview = nil, ""
	text, err := json.Marshal(kept{s, j.query, j.client})
	if err != nil {
		return err
	}
	return media.WriteFile(filepath.Join(j.folder, "job.json"), text)
}

// input and output are the job's files.
func (j *work) input() string  { return filepath.Join(j.folder, "input."+j.ask.input) }
func (j *work) output() string { return filepath.Join(j.folder, "output."+j.ask.output) }

// reserve changes the disk space of the job's files to n bytes in all.
func (j *work) reserve(n int64) error {
	j.mu.Lock()
	had := j.taken
	j.mu.Unlock()
	if n > had {
		err := j.api.disk.fits(n)
		if err == nil {
			err = j.api.disk.take(j.client, n-had)
		}
		if err != nil {
			return err
		}
	} else {
		j.api.disk.give(j.client, had-n)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.taken += n - had
	return nil
}

// occupies returns the size of the job's files, in bytes.
func (j *work) occupies() (n int64) {
	for _, path := range []string{j.input(), j.output()} {
		if info, err := os.Stat(path); err == nil {
			n += info.Size()
		}
	}
	return n
}

// end records how a job ended; nil is success.
func (j *work) end(a *API, err error) {
	os.Remove(j.input())
	j.dropPreview()
	if err == nil { // a job that is reported as done survives a loss of power
		err = errors.Join(temporary.Flush(j.output()), temporary.FlushNames(j.folder))
	}
	if err != nil {
		os.Remove(j.output())
	}
	j.keepFor(a.o.Keep)
	_ = j.reserve(j.occupies()) // less than was reserved, or in use already
	serr := j.set(true, func(s *state) {
		s.Ended, s.Progress, s.Preview = time.Now().UTC(), nil, ""
		s.Expires = s.Ended.Add(a.o.Keep)
		s.Bytes = 0
		if info, err := os.Stat(j.output()); err == nil {
			s.Bytes = info.Size()
		}
		switch {
		case err == nil:
			s.State = stateDone
		case s.State == stateCancelled: // at the client's request
		case a.ctx.Err() != nil:
			s.State, s.Error, s.Code = stateInterrupted, interrupted, stateInterrupted
		default:
			p := asProblem(err)
			s.State, s.Error, s.Code = stateFailed, j.message(p.Error()), p.code
		}
	})
	if _, gone := a.jobs.find(j.state.ID); serr != nil && gone == nil { // otherwise it was deleted meanwhile, with its folder
		a.o.Log(fmt.Sprintf("job %s: cannot save its state: %v", j.state.ID, serr))
	}
	j.leave()
}

const interrupted = "the server ended before the job did: send it again"
