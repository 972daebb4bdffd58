package session

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/latent"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// A bug in the engine ends only the job that met it.
func TestPanicEndsOneJob(t *testing.T) {
	p, h := start(t)
	p.open()
	decode := map[string]any{"type": "decode", "id": 2, "source": p.source(2, "z.safetensors"), "options": map[string]any{"tile": "off"}}
	h.broken = true
	p.receive(decode, nil)
	m, _ := p.end(2)
	assert.Equal(t, "failed", m.Code, m.Message)
	assert.Contains(t, m.Message, "it is broken")
	require.Len(t, h.ended, 1, "the turn has ended")
	assert.ErrorIs(t, h.ended[0], ErrPanic)
	p.receive(map[string]any{"type": "device", "id": 3, "version": Version}, nil)
	m, _ = p.end(3)
	assert.Equal(t, "failed", m.Code, m.Message)
	h.broken = false
	decode["id"] = 4
	p.receive(decode, nil)
	m, _ = p.end(4)
	assert.Equal(t, "result", m.Type, m.Message)
}

// A question to the page ends with its job; only the awaited answer ends the wait.
func TestWaitingForThePage(t *testing.T) {
	p, _ := start(t)
	p.open()
	asked, never := make(chan bool, 1), make(chan struct{})
	p.clip = func(int) []byte {
		asked <- true
		<-never
		return nil
	}
	defer close(never)
	assert.Zero(t, p.s.Waiting())
	p.receive(map[string]any{"type": "encode", "id": 2, "clip": map[string]any{"frames": 1, "height": 16, "width": 24}}, nil)
	<-asked
	time.Sleep(50 * time.Millisecond)
	p.receive(map[string]any{"type": "ack", "id": 2, "seq": 1}, nil)
	p.receive(map[string]any{"type": "bytes", "id": 2, "read": 999}, []byte{1})
	p.receive(map[string]any{"type": "plan", "id": 3}, nil)
	p.end(3)
	assert.GreaterOrEqual(t, p.s.Waiting(), 50*time.Millisecond, "something else was taken for the answer")
	p.receive(map[string]any{"type": "cancel", "id": 2}, nil)
	m, _ := p.end(2)
	assert.Equal(t, "cancelled", m.Code, m.Message)
	assert.Zero(t, p.s.Waiting())
}

// A message may have bytes only if they were requested, and no more than that.
func TestRoom(t *testing.T) {
	p, _ := start(t)
	answer := make(chan reply, 1)
	p.s.reads[7] = question{100, answer}
	for header, want := range map[string]int{
		`{"type":"bytes","read":7}`: 100, `{"type":"bytes","read":8}`: 0, `{"type":"plan","read":7}`: 0, `{"type":`: 0,
	} {
		assert.Equal(t, want, p.s.Room([]byte(header)), header)
	}
	p.receive(map[string]any{"type": "bytes", "id": 1, "read": 7}, make([]byte, 101))
	a := <-answer
	assert.ErrorContains(t, a.err, "more than the 100 bytes asked for")
}

// Sizes that a page claims are refused before anything is allocated.
func TestRefuseClaimedSizes(t *testing.T) {
	p, _ := start(t)
	p.open()
	p.s.o.MaxAnswer = 8 << 20
	clip := func(frames, side int) map[string]any {
		return map[string]any{"type": "encode", "clip": map[string]any{"frames": frames, "height": side, "width": side}}
	}
	for i, c := range []struct {
		ask  map[string]any
		want string
	}{
		{clip(1, 1<<14), "frames of 16384x16384 pixels are 1073741824 bytes, expected at most 8388608"},
		{clip(1<<17, 1024), "expected at most 2.00 GiB"},
		{clip(1<<17, 1<<20), "at most 16384x16384"},
		{map[string]any{"type": "open", "source": map[string]any{"id": 9, "name": "m.safetensors", "size": int64(1) << 50}}, "at most 1099511627776 bytes"},
	} {
		c.ask["id"] = 10 + i
		p.receive(c.ask, nil)
		m, _ := p.end(10 + i)
		assert.Equal(t, "bad_input", m.Code, m.Message)
		assert.Contains(t, m.Message, c.want)
	}
	config := vae.Config{Latent: 16, Spatial: 8}
	for _, l := range []latent.Latent{
		{Channels: 16, Frames: 1 << 17, Height: 1 << 14, Width: 1 << 14},
		{Channels: 16, Frames: 2049, Height: 128, Width: 128},
		{Channels: 16, Frames: 1, Height: 1 << 12, Width: 1 << 12},
	} {
		assert.Error(t, checkLatent("z", l, config), l.Shape())
	}
	assert.NoError(t, checkLatent("z", latent.Latent{Channels: 16, Frames: 2048, Height: 128, Width: 128}, config))
}

// The header that was checked is used when the file is read again, even if the file has
// changed.
func TestHeaderIsPinned(t *testing.T) {
	file := strings.NewReader("header, data")
	p := &pinned{ReaderAt: file, seen: map[span][]byte{}}
	read := func(offset int64, n int) string {
		b := make([]byte, n)
		_, err := p.ReadAt(b, offset)
		require.NoError(t, err)
		return string(b)
	}
	require.Equal(t, "header", read(0, 6))
	p.full = true
	p.ReaderAt = bytes.NewReader([]byte("HEADER, DATA"))
	require.Equal(t, "header", read(0, 6))
	require.Equal(t, "DATA", read(8, 4))
	require.Equal(t, "HEAD", read(0, 4), "other bytes than were checked are read again")
	require.Len(t, p.seen, 1)
}

// Opening a checkpoint requests only its header from the page; for another file it
// requests what identifies it.
func TestOpeningReadsTheHeader(t *testing.T) {
	p, _ := start(t)
	header := 8 + int(binary.LittleEndian.Uint64(p.files[1]))
	p.files[3] = []byte(`{"metadata": {"format": "` + strings.Repeat("x", 100) + `"}, "weight_map": {}}`)
	p.files[4] = []byte("<html>")
	read := func() (end int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, m := range p.reads {
			end = max(end, m.Offset+m.Length)
		}
		p.reads = nil
		return end
	}
	p.open()
	assert.Equal(t, header, read())
	for id, want := range map[int]string{3: "is the index of a checkpoint in several files", 4: "is a web page"} {
		p.receive(map[string]any{"type": "open", "id": 10 + id, "source": p.source(id, "x.safetensors")}, nil)
		m, _ := p.end(10 + id)
		assert.Equal(t, "bad_input", m.Code)
		assert.Contains(t, m.Message, "x.safetensors: "+want)
		assert.Equal(t, len(p.files[id]), read())
	}
}

// A page learns what a file with a decoder alone lacks, and gets an error if it requests
// more.
func TestHalfOfAPage(t *testing.T) {
	p, _ := start(t)
	path := filepath.Join(t.TempDir(), "whole.safetensors")
	require.NoError(t, os.WriteFile(path, p.files[1], 0o666))
	all, meta, err := synthetic.Read(path)
	require.NoError(t, err)
	require.NoError(t, synthetic.Create(path, slices.DeleteFunc(all, func(r synthetic.Raw) bool { return strings.HasPrefix(r.Name, "encoder.") }), meta))
	p.files[1], err = os.ReadFile(path)
	require.NoError(t, err)
	p.receive(map[string]any{"type": "open", "id": 1, "source": p.source(1, "half.safetensors"), "precision": "f32"}, nil)
	m, _ := p.end(1)
	require.Equal(t, "result", m.Type, m.Message)
	assert.Contains(t, string(m.Value), `"widths":[],"lacks":"encoder"`)
	for id, direction := range map[int]string{2: "decode", 3: "encode"} {
		p.receive(map[string]any{"type": "plan", "id": id, "options": map[string]any{"direction": direction, "frames": 1, "height": 16, "width": 16}}, nil)
		m, _ = p.end(id)
		if direction == "decode" {
			require.Equal(t, "result", m.Type, m.Message)
			continue
		}
		assert.Equal(t, "bad_input", m.Code, m.Message)
		assert.Contains(t, m.Message, "half.safetensors has no encoder and cannot encode")
	}
}

// A file that is not a checkpoint is described to a page in two lines, and the evidence
// is sent separately.
func TestMistakeOfAPage(t *testing.T) {
	p, _ := start(t)
	path := filepath.Join(t.TempDir(), "m.safetensors")
	require.NoError(t, synthetic.Create(path, []synthetic.Raw{{Spec: safetensors.Spec{Name: "blocks.0.self_attn.q.weight", DType: safetensors.F32, Shape: []int{1}}, Data: make([]byte, 4)}}, nil))
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	p.files[3] = file
	p.receive(map[string]any{"type": "open", "id": 13, "source": p.source(3, "m.safetensors")}, nil)
	m, _ := p.end(13)
	assert.Equal(t, "bad_input", m.Code)
	assert.Contains(t, m.Message, "m.safetensors: is the diffusion model of Wan 2.1 or Wan 2.2 A14B, expected a VAE\n  its VAE is wan_2.1_vae.safetensors, 254 MB: `tessera pull wan2.1`, or https://")
	assert.NotContains(t, m.Message, "self_attn")
	assert.Equal(t, "recognised by the tensor blocks.0.self_attn.q.weight", m.Detail)
}
