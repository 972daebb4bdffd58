package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"time"

	"tessera/temporary"
)

// store holds all jobs, and their folder.
type store struct {
	folder string
	lock   *os.File // nil: the folder belongs to the API

	mu   sync.Mutex
	jobs map[string]*work
}

// maxJobs limits the jobs that are kept: many small jobs take little disk. One client may
// have three quarters of them.
const maxJobs = 10_000

// numbers matches job numbers.
var numbers = regexp.MustCompile(`^[0-9a-f]{32}$`)

// openStore opens the folder and restores the jobs of earlier starts.
func (a *API) openStore(folder string) (*store, error) {
	s := &store{folder: folder, jobs: map[string]*work{}}
	if folder == "" && a.folder == nil {
		return s, nil // without models there are no jobs
	}
	if folder == "" {
		s.folder = filepath.Join(a.folder.Name(), "jobs")
	}
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	if folder != "" {
		var err error
		if s.lock, err = temporary.Lock(filepath.Join(folder, "lock")); err != nil {
			return nil, fmt.Errorf("api: %s: in use by another server: %w", folder, err)
		}
	}
	entries, err := os.ReadDir(s.folder)
	if err != nil {
		return nil, fmt.Errorf("api: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && numbers.MatchString(e.Name()) {
			a.restoreOr(s, e.Name())
		}
	}
	return s, nil
}

// restoreOr restores a job. It moves a job with an unreadable record aside, and leaves one
// that this start has no room or no model for to the next start.
func (a *API) restoreOr(s *store, id string) {
	err := a.restore(s, id)
	path := filepath.Join(s.folder, id)
	if errors.Is(err, errRecord) {
		if rerr := os.Rename(path, path+".unreadable"); rerr != nil {
			err = errors.Join(err, rerr)
		}
		path += ".unreadable"
	}
	if err != nil {
		a.o.Log(fmt.Sprintf("job %s of an earlier start cannot continue and is kept in %s: %v", id, path, err))
	}
}

// errRecord means that a job's record is unreadable.
var errRecord = errors.New("its record is unreadable")

// restore loads a job of an earlier start. A finished job keeps its output, a partly
// received one its input; a job that was queued or running becomes interrupted.
func (a *API) restore(s *store, id string) error {
	folder := filepath.Join(s.folder, id)
	temporary.Sweep(folder)
	text, err := os.ReadFile(filepath.Join(folder, "job.json"))
	var k kept
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err == nil && (k.ID != id || !slices.Contains(states, k.State)) {
		err = fmt.Errorf("it is of job %.40q in state %.20q", k.ID, k.State)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errRecord, err)
	}
	j := a.newWork(folder, k.Query, k.Client, k.state)
	if j.ask, err = a.jobRequest(k.Query); err != nil {
		j.ask = &jobRequest{input: "none", output: k.Output} // its model is not served any more
		if !k.over() {
			return err
		}
	}
	switch {
	case j.state.State == stateReceiving && j.received() < j.state.Size:
		j.keepFor(time.Until(j.heard().Add(a.o.Keep)))
		j.state.Received = j.received() // it takes a place when more arrives
		err = j.reserve(j.state.Received)
	case !j.state.over() || j.state.State == stateDone && sizeOf(j.output()) != j.state.Bytes:
		os.Remove(j.input())
		os.Remove(j.output())
		j.dropPreview()
		err = j.set(true, func(s *state) {
			s.State, s.Error, s.Code = stateInterrupted, interrupted, stateInterrupted
			s.Ended, s.Bytes = time.Now().UTC(), 0
			s.Expires = s.Ended.Add(a.o.Keep)
		})
	}
	if err == nil && j.state.over() {
		j.keepFor(time.Until(j.state.Expires))
		err = j.reserve(j.occupies())
	}
	if err == nil {
		s.jobs[id] = j
	}
	return err
}

// received returns how many bytes of the input were received.
func (j *work) received() int64 { return sizeOf(j.input()) }

// sizeOf returns a file's size, 0 if it does not exist.
func sizeOf(path string) int64 {
	if info, err := os.Stat(path); err == nil {
		return info.Size()
	}
	return 0
}

// heard returns when the last bytes of the input arrived.
func (j *work) heard() time.Time {
	if info, err := os.Stat(j.input()); err == nil {
		return info.ModTime()
	}
	return j.state.Created
}

func (a *API) newWork(folder, query, client string, s state) *work {
	j := &work{folder: folder, query: query, client: client, state: s, api: a, leave: func() {}, changed: make(chan struct{})}
	j.ctx, j.stop = context.WithCancel(a.ctx)
	j.keepFor(a.o.Keep)
	return j
}

// add creates a job and its folder.
func (a *API) add(ask *jobRequest, query, client string, size int64, leave func()) (*work, error) {
	if err := a.disk.fits(size); err != nil {
		return nil, err
	}
	if err := a.disk.room(client, size, false); err != nil {
		return nil, err
	}
	id := newID()
	j := a.newWork(filepath.Join(a.jobs.folder, id), query, client, state{
		ID: id, Kind: ask.kind, Model: ask.model.name, State: stateReceiving, Created: time.Now().UTC(), Size: size, Output: ask.output,
	})
	j.ask, j.leave = ask, leave
	if err := a.jobs.enter(j); err != nil {
		return nil, err
	}
	err := os.Mkdir(j.folder, 0o700)
	if err == nil {
		err = temporary.FlushNames(a.jobs.folder)
	}
	if err == nil {
		err = os.WriteFile(j.input(), nil, 0o600)
	}
	if err == nil {
		err = j.set(true, func(*state) {})
	}
	if err != nil {
		a.jobs.forget(j)
		return nil, fmt.Errorf("api: %w", err)
	}
	return j, nil
}

// enter adds a job. If the store or the client has too many, the client's job that ended
// first is removed, or the new one is refused.
func (s *store) enter(j *work) error {
	s.mu.Lock()
	own, over := 0, finished(s.jobs, j.client)
	for _, other := range s.jobs {
		if other.client == j.client {
			own++
		}
	}
	full := len(s.jobs) >= maxJobs || own >= maxJobs*3/4
	if full && len(over) == 0 {
		defer s.mu.Unlock()
		err := fmt.Errorf("%d jobs are kept, %d of them yours, and all are unfinished: try again later", len(s.jobs), own)
		return &problem{status: http.StatusTooManyRequests, code: "busy", err: err, wait: time.Minute}
	}
	if full {
		delete(s.jobs, over[0].state.ID)
	}
	s.jobs[j.state.ID] = j
	s.mu.Unlock()
	if full {
		over[0].remove()
	}
	return nil
}

// finished returns a client's ended jobs, the earliest first.
func finished(jobs map[string]*work, client string) []*work {
	var list []*work
	ended := map[*work]time.Time{}
	for _, j := range jobs {
		if now, _ := j.now(); j.client == client && now.over() {
			list = append(list, j)
			ended[j] = now.Ended
		}
	}
	slices.SortFunc(list, func(a, b *work) int { return ended[a].Compare(ended[b]) })
	return list
}

// find returns the job of a number.
func (s *store) find(id string) (*work, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[id]; j != nil {
		return j, nil
	}
	return nil, &problem{status: http.StatusNotFound, code: "no_job", err: fmt.Errorf("job %.40q not found: it has expired or never existed", id)}
}

// forget removes an ended job.
func (s *store) forget(j *work) {
	s.mu.Lock()
	_, there := s.jobs[j.state.ID]
	delete(s.jobs, j.state.ID)
	s.mu.Unlock()
	if there {
		j.remove()
	}
}

// remove deletes the files of a job that is no longer in the store.
func (j *work) remove() {
	os.RemoveAll(j.folder)
	_ = j.reserve(0)
	_ = j.set(false, func(*state) {})
}

// all returns the jobs.
func (s *store) all() []*work {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.jobs))
}

// results returns a client's results that can be removed if the disk is full.
func (s *store) results(client string) (list []removable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, j := range finished(s.jobs, client) {
		j.mu.Lock()
		taken := j.taken
		j.mu.Unlock()
		if taken > 0 {
			list = append(list, removable{taken, func() { s.forget(j) }})
		}
	}
	return list
}

// tidy removes expired jobs until the API ends.
func (a *API) tidy() {
	defer a.busy.Done()
	look := time.NewTicker(max(min(a.o.Keep/4, time.Minute), time.Millisecond))
	defer look.Stop()
	for {
		select {
		case <-a.ctx.Done():
			return
		case now := <-look.C:
			a.jobs.tidy(now)
		}
	}
}

// tidy removes the jobs that have expired at now, and gives up those whose input stopped
// arriving for as long.
func (s *store) tidy(now time.Time) {
	for _, j := range s.all() {
		is, _ := j.now()
		if is.over() && j.isDue(now) {
			s.forget(j)
		}
		if is.over() || !j.upload.TryLock() { // its input is arriving
			continue
		}
		if is, _ = j.now(); is.State == stateReceiving && j.isDue(now) {
			j.stop()
			j.leave()
			_ = j.set(false, func(s *state) { s.State = stateCancelled })
			s.forget(j)
		}
		j.upload.Unlock()
	}
}

// bytes returns the disk space of all jobs.
func (s *store) bytes() (n int64) {
	for _, j := range s.all() {
		j.mu.Lock()
		n += j.taken
		j.mu.Unlock()
	}
	return n
}

// count returns how many jobs are in each state.
func (s *store) count() map[string]int {
	n := map[string]int{}
	for _, j := range s.all() {
		now, _ := j.now()
		n[now.State]++
	}
	return n
}

// close releases the folder.
func (s *store) close() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}
