package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/latent"
	"tessera/media"
	"tessera/tests/synthetic"
)

// message is a message of the engine with its parsed header.
type message struct {
	Type    string          `json:"type"`
	ID      int             `json:"id"`
	Read    int             `json:"read"`
	Source  int             `json:"source"`
	Offset  int             `json:"offset"`
	Length  int             `json:"length"`
	Frame   int             `json:"frame"`
	Seq     int             `json:"seq"`
	Code    string          `json:"code"`
	Message string          `json:"message"`
	Detail  string          `json:"detail"`
	Value   json.RawMessage `json:"value"`
	Plan    *plan           `json:"plan"`
	payload []byte
}

// page answers the engine's questions, and keeps the other messages.
type page struct {
	t     *testing.T
	s     *Session
	files map[int][]byte
	clip  func(t int) []byte
	ack   bool
	gone  bool      // sending to it fails
	reads []message // questions about its files

	mu   sync.Mutex
	got  []message
	news chan struct{}
}

// Send receives the engine's messages; another goroutine answers, as in a real page.
func (p *page) Send(header, payload []byte) error {
	m := message{payload: bytes.Clone(payload)}
	assert.NoError(p.t, json.Unmarshal(header, &m), string(header))
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return errors.New("the page is gone")
	}
	switch m.Type {
	case "read":
		p.reads = append(p.reads, m)
		data := p.files[m.Source]
		data = data[min(m.Offset, len(data)):min(m.Offset+m.Length, len(data))]
		go p.receive(map[string]any{"type": "bytes", "id": m.ID, "read": m.Read}, data)
		return nil
	case "pixels":
		go func() { p.receive(map[string]any{"type": "bytes", "id": m.ID, "read": m.Read}, p.clip(m.Frame)) }()
		return nil
	case "tile", "frame", "preview":
		if p.ack {
			go p.receive(map[string]any{"type": "ack", "id": m.ID, "seq": m.Seq}, nil)
		}
	}
	p.got = append(p.got, m)
	select {
	case p.news <- struct{}{}:
	default:
	}
	return nil
}

func (p *page) receive(header map[string]any, payload []byte) {
	assert.NoError(p.t, p.try(header, payload), header)
}

func (p *page) try(header map[string]any, payload []byte) error {
	text, err := json.Marshal(header)
	require.NoError(p.t, err)
	return p.s.Receive(text, payload)
}

// wait returns the messages of a request up to the first that ok accepts.
func (p *page) wait(id int, ok func(message) bool) []message {
	p.t.Helper()
	end := time.After(2 * time.Minute)
	for {
		var of []message
		p.mu.Lock()
		for _, m := range p.got {
			if m.ID == id {
				of = append(of, m)
				if ok(m) {
					p.mu.Unlock()
					return of
				}
			}
		}
		p.mu.Unlock()
		select {
		case <-p.news:
		case <-end:
			require.Fail(p.t, "not what was waited for", "request %d: %d messages", id, len(of))
		}
	}
}

func final(m message) bool { return m.Type == "result" || m.Type == "error" }

// end waits for a request's end.
func (p *page) end(id int) (message, []message) {
	p.t.Helper()
	all := p.wait(id, final)
	return all[len(all)-1], all
}

func count(all []message, kind string) int {
	n := 0
	for _, m := range all {
		if m.Type == kind {
			n++
		}
	}
	return n
}

// alone is a host for one page.
type alone struct {
	dev     *gpu.Device
	crowded bool
	broken  bool // panics in the middle of a turn
	turn    sync.Mutex
	ended   []error
}

func (h *alone) Info(context.Context) (gpu.Info, error) { return h.dev.Info(), nil }
func (h *alone) Turn(_ context.Context, queued func(int)) (*gpu.Device, error) {
	queued(0)
	h.turn.Lock()
	return h.dev, nil
}
func (h *alone) Done(err error) { h.ended = append(h.ended, err); h.turn.Unlock() }
func (h *alone) Crowded() bool {
	if h.broken {
		panic("it is broken")
	}
	return h.crowded
}
func (h *alone) Reading(context.Context) (func(), error) { return func() {}, nil }
func (h *alone) Open(path string) (io.ReaderAt, int64, func() error, error) {
	return nil, 0, nil, errors.New("no file " + path)
}

// small returns a checkpoint in memory.
func small(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, synthetic.WriteSeedVR2(&b, synthetic.SeedVR2Config{Widths: []int{32, 64, 96, 96}, Latent: 4}))
	return b.Bytes()
}

// latentFile returns a latent file of the small model.
func latentFile(t *testing.T, meta map[string]string) []byte {
	t.Helper()
	return latentOf(t, 4, meta)
}

// latentOf returns a latent file with the given channels.
func latentOf(t *testing.T, channels int, meta map[string]string) []byte {
	t.Helper()
	wide := make([]float64, channels*3*4*6)
	synthetic.Fill("noise", wide)
	l := latent.Latent{Channels: channels, Frames: 3, Height: 4, Width: 6, Meta: meta}
	for _, v := range wide {
		l.Data = append(l.Data, float32(v))
	}
	var b bytes.Buffer
	require.NoError(t, media.EncodeLatent(&b, "z.safetensors", l))
	return b.Bytes()
}

// start returns a page whose file 1 is the small model and file 2 a latent.
func start(t *testing.T) (*page, *alone) {
	t.Helper()
	h := &alone{dev: gputest.Open(t)}
	p := &page{
		t: t, ack: true, news: make(chan struct{}, 1),
		files: map[int][]byte{1: small(t), 2: latentFile(t, nil)},
		clip:  func(i int) []byte { return bytes.Repeat([]byte{byte(40 * i), 80, 120, 255}, 16*24) },
	}
	p.s = New(p, h, Options{Kind: "native", HostBytes: func() int64 {
		if h.broken {
			panic("it is broken")
		}
		return 0
	}})
	t.Cleanup(p.s.Close)
	return p, h
}

func (p *page) source(id int, name string) map[string]any {
	return map[string]any{"id": id, "name": name, "size": len(p.files[id])}
}

// open opens the small model as request 1.
func (p *page) open() {
	p.t.Helper()
	p.receive(map[string]any{"type": "open", "id": 1, "source": p.source(1, "small.safetensors"), "precision": "f32"}, nil)
	m, _ := p.end(1)
	require.Equal(p.t, "result", m.Type, "open: %s", m.Message)
}
