package session

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tessera/app/job"
	"tessera/format/json"
)

const (
	blockBytes = 4 << 20 // bytes of a file per request
	blocks     = 4       // blocks of a file in memory

	maxFile = 1 << 40 // bytes
)

// errGone means that the page has gone.
var errGone = errors.New("session: the page is gone")

// question is a request that the page must answer with length bytes.
type question struct {
	length int
	answer chan reply
}

// reply is the page's answer.
type reply struct {
	data []byte
	err  error
}

// ask sends a question and waits for the answering bytes, unless the request is
// cancelled. message receives the number that the answer will carry.
func (s *Session) ask(r *request, length int, message func(read int) any) ([]byte, error) {
	answer := make(chan reply, 1)
	s.mu.Lock()
	s.lastRead++
	read := s.lastRead
	s.reads[read] = question{length, answer}
	s.mu.Unlock()
	defer s.await(r)()
	defer func() {
		s.mu.Lock()
		delete(s.reads, read)
		s.mu.Unlock()
	}()
	if err := s.send(message(read), nil); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		return a.data, a.err
	case <-r.ctx.Done():
		if s.ctx.Err() != nil {
			return nil, errGone
		}
		return nil, r.ctx.Err()
	}
}

// await marks a request as waiting for the page until done is called.
func (s *Session) await(r *request) (done func()) {
	note := func(at time.Time) {
		s.mu.Lock()
		r.asked = at
		s.mu.Unlock()
	}
	note(time.Now())
	return func() { note(time.Time{}) }
}

// hold records whether a request holds what other pages may wait for.
func (s *Session) hold(r *request, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.holding = held
}

// reading waits for the turn to read a header.
func (s *Session) reading(r *request) (done func(), err error) {
	end, err := s.host.Reading(r.ctx)
	if err != nil {
		return nil, err
	}
	s.hold(r, true)
	return func() {
		s.hold(r, false)
		end()
	}, nil
}

// Waiting returns how long the page has left a question unanswered while it holds what
// other pages may wait for.
func (s *Session) Waiting() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	var longest time.Duration
	for _, r := range s.pending {
		if r.holding && !r.asked.IsZero() {
			longest = max(longest, time.Since(r.asked))
		}
	}
	return longest
}

// Room returns how many bytes may follow a message's header: as many as were requested.
func (s *Session) Room(header []byte) int {
	var r request
	if json.Unmarshal(header, &r) != nil || r.Type != "bytes" {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[r.Read].length
}

// answered passes bytes to the goroutine that asked for them, and drops an answer that is
// no longer wanted.
func (s *Session) answered(r *request, payload []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := s.reads[r.Read]
	if !ok {
		return
	}
	delete(s.reads, r.Read)
	switch {
	case r.Error != "":
		q.answer <- reply{err: errors.New(r.Error)}
	case len(payload) > q.length:
		q.answer <- reply{err: fmt.Errorf("got more than the %d bytes asked for", q.length)}
	default:
		q.answer <- reply{data: payload}
	}
}

// file opens a request's source.
func (s *Session) file(r *request, src source) (file io.ReaderAt, size int64, name string, closed func() error, err error) {
	if src.Path != "" {
		file, size, closed, err = s.host.Open(src.Path)
		if err != nil {
			err = job.Mark(err, job.ErrInput)
		}
		return file, size, src.Path, closed, err
	}
	if src.ID <= 0 || src.Size < 0 || src.Size > maxFile {
		return nil, 0, "", nil, job.BadInput("session: source %d of %d bytes, expected a number from 1 and at most %d bytes", src.ID, src.Size, int64(maxFile))
	}
	return &pageFile{s: s, r: r, source: src}, src.Size, src.Name, func() error { return nil }, nil
}

// pageFile reads a file of the page by ranges, through a few cached blocks.
type pageFile struct {
	s      *Session
	r      *request // the request that reads
	source source
	kept   []block // the most recently used last
}

type block struct {
	offset int64
	data   []byte
}

// ReadAt may be called by one goroutine at a time.
func (f *pageFile) ReadAt(p []byte, offset int64) (int, error) {
	n := 0
	for n < len(p) {
		at := offset + int64(n)
		if at >= f.source.Size {
			return n, io.EOF
		}
		b, err := f.block(at / blockBytes * blockBytes)
		if err != nil {
			return n, err
		}
		n += copy(p[n:], b[at%blockBytes:])
	}
	return n, nil
}

// block returns the block at an offset.
func (f *pageFile) block(offset int64) ([]byte, error) {
	for i, b := range f.kept {
		if b.offset == offset {
			f.kept = append(append(f.kept[:i], f.kept[i+1:]...), b)
			return b.data, nil
		}
	}
	data, err := f.ask(offset, int(min(blockBytes, f.source.Size-offset)))
	if err != nil {
		return nil, err
	}
	if len(f.kept) == blocks {
		f.kept = append(f.kept[:0], f.kept[1:]...)
	}
	f.kept = append(f.kept, block{offset, data})
	return data, nil
}

// ask requests bytes of the file from the page.
func (f *pageFile) ask(offset int64, length int) ([]byte, error) {
	data, err := f.s.ask(f.r, length, func(read int) any {
		return readRequest{about("read", f.r.ID), read, f.source.ID, offset, length}
	})
	if err == nil && len(data) != length {
		err = fmt.Errorf("got %d bytes, expected %d: has the file changed?", len(data), length)
	}
	if err != nil {
		return nil, job.BadInput("session: %s: bytes %d to %d: %w", f.source.Name, offset, offset+int64(length), err)
	}
	return data, nil
}

// exact reads a page's file without the blocks, which suit sequential reads.
type exact struct{ io.ReaderAt }

// ReadAt requests exactly p.
func (e exact) ReadAt(p []byte, offset int64) (int, error) {
	f, ok := e.ReaderAt.(*pageFile)
	if !ok || len(p) == 0 || len(p) > blockBytes {
		return e.ReaderAt.ReadAt(p, offset)
	}
	length := min(int64(len(p)), f.source.Size-offset)
	if length <= 0 {
		return 0, io.EOF
	}
	data, err := f.ask(offset, int(length))
	n := copy(p, data)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return n, err
}

// headerOf wraps a file of which only the header is wanted. A safetensors header takes a
// few short reads at the beginning; reading whole blocks would request data that may be
// far away.
func headerOf(file io.ReaderAt, name string) io.ReaderAt {
	if strings.HasSuffix(strings.ToLower(name), ".safetensors") {
		return exact{file}
	}
	return file
}

// opening reads a file as headerOf does until it is open.
type opening struct {
	io.ReaderAt
	whole io.ReaderAt
}

func (o *opening) opened() { o.ReaderAt = o.whole }

// forget drops the blocks.
func (f *pageFile) forget() { f.kept = nil }
