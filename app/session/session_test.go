package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

var tiled = map[string]any{"tile": "16", "overlap": "8"}

// A decode's frames are those of the package vae, each tile is shown before,
// and what was read goes to the device once.
func TestDecode(t *testing.T) {
	p, h := start(t)
	p.open()
	m, err := vae.OpenReader(h.dev, bytes.NewReader(p.files[1]), int64(len(p.files[1])), "small", vae.Settings{Precision: vae.F32})
	if err != nil {
		t.Fatal(err)
	}
	l, err := media.DecodeLatent(bytes.NewReader(p.files[2]), int64(len(p.files[2])), "z.safetensors", 4)
	if err != nil {
		t.Fatal(err)
	}
	o := vae.DecodeOptions{RGBA8: true, Options: vae.Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8)}}
	var want [][]byte
	for f, err := range m.Decode(context.Background(), latent.Latent{Channels: 4, Frames: 3, Height: 4, Width: 6, Data: l.Data}, o) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, slices.Clone(f.RGBA))
	}
	m.Close()

	p.receive(map[string]any{"type": "decode", "id": 2, "source": p.source(2, "z.safetensors"), "options": tiled}, nil)
	end, all := p.end(2)
	if end.Type != "result" {
		t.Fatal(end.Message)
	}
	n := 0
	for _, m := range all {
		if m.Type == "frame" {
			if n >= len(want) || !bytes.Equal(m.payload, want[n]) {
				t.Errorf("frame %d differs", n)
			}
			n++
		}
	}
	var d done
	if err := json.Unmarshal(end.Value, &d); err != nil || d.Frames != 9 || d.PeakBytes == 0 || d.Operations[0].Name != "conv3d" {
		t.Errorf("done %s, %v", end.Value, err)
	}
	i := slices.IndexFunc(all, func(m message) bool { return m.Type == "plan" })
	tiles := len(all[i].Plan.Tiles)
	if n != len(want) || tiles < 4 || count(all, "tile") != 9*tiles || count(all, "loading") == 0 || count(all, "queued") > 1 {
		t.Errorf("%d frames, %d pictures of %d tiles", n, count(all, "tile"), tiles)
	}
	p.receive(map[string]any{"type": "decode", "id": 3, "source": p.source(2, "z.safetensors"), "options": map[string]any{"tile": "off"}}, nil)
	if _, all := p.end(3); count(all, "loading") != 0 || count(all, "frame") != 9 || count(all, "tile") != 0 {
		t.Errorf("second decode: loaded %d times, %d frames, %d tiles", count(all, "loading"), count(all, "frame"), count(all, "tile"))
	}
}

// The engine waits with InFlight pictures on their way, and goes on with each
// acknowledged.
func TestBackPressure(t *testing.T) {
	p, _ := start(t)
	p.open()
	p.ack = false
	p.receive(map[string]any{"type": "decode", "id": 2, "source": p.source(2, "z.safetensors"), "options": map[string]any{"tile": "off"}}, nil)
	pictures := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return count(p.got, "frame")
	}
	for sent := InFlight; sent < 9; sent++ {
		p.wait(2, func(m message) bool { return m.Type == "frame" && m.Seq == sent })
		time.Sleep(50 * time.Millisecond)
		if n := pictures(); n != sent {
			t.Fatalf("%d pictures with %d acknowledged, expected %d", n, sent-InFlight, sent)
		}
		p.receive(map[string]any{"type": "ack", "id": 2, "seq": sent - InFlight + 1}, nil)
	}
	if m, _ := p.end(2); m.Type != "result" {
		t.Error(m.Message)
	}
	// A job that waits for acknowledgements can be cancelled.
	p.receive(map[string]any{"type": "decode", "id": 3, "source": p.source(2, "z.safetensors"), "options": map[string]any{"tile": "off"}}, nil)
	p.wait(3, func(m message) bool { return m.Type == "frame" && m.Seq == InFlight })
	p.receive(map[string]any{"type": "cancel", "id": 3}, nil)
	if m, _ := p.end(3); m.Code != "cancelled" {
		t.Errorf("cancelled: %+v", m)
	}
}

func TestRoundtrip(t *testing.T) {
	p, h := start(t)
	h.crowded = true
	p.open()
	p.receive(map[string]any{
		"type": "roundtrip", "id": 2, "clip": map[string]any{"frames": 3, "height": 16, "width": 24, "fps": 29.97},
		"options": map[string]any{"format": ".latent"},
	}, nil)
	end, all := p.end(2)
	if end.Type != "result" || count(all, "frame") != 3 || count(all, "quality") != 4 || count(all, "plan") != 2 {
		t.Fatalf("%d frames, %d qualities: %s", count(all, "frame"), count(all, "quality"), end.Message)
	}
	i := slices.IndexFunc(all, func(m message) bool { return m.Type == "latent" })
	l, err := media.DecodeLatent(bytes.NewReader(all[i].payload), int64(len(all[i].payload)), "latent.latent", 4)
	if err != nil || l.Frames != 2 || l.Meta[latent.MetaFPS] != "30000/1001" || l.Meta[latent.MetaFrames] != "3" {
		t.Errorf("latent of %v, %v, %v", l.Shape(), l.Meta, err)
	}
	// With others about, nothing stays on the device.
	if b := h.dev.Stats().Bytes; b != 0 {
		t.Errorf("%d bytes left on the device", b)
	}
}

// Everything that is the page's fault is told as such, and does no harm.
func TestBadInput(t *testing.T) {
	p, _ := start(t)
	p.files[3] = latentFile(t, map[string]string{latent.MetaScale: "bent"})
	p.files[4] = []byte("no latent at all")
	p.files[5] = latentFile(t, map[string]string{latent.MetaImages: "true"})
	id := 10
	ask := func(want string, header map[string]any) {
		t.Helper()
		id++
		header["id"] = id
		p.receive(header, nil)
		if m, _ := p.end(id); m.Code != "bad_input" || !strings.Contains(m.Message, want) {
			t.Errorf("%v: %s %q, expected %q", header["type"], m.Code, m.Message, want)
		}
	}
	clip := func(frames, h, w int) map[string]any {
		return map[string]any{"frames": frames, "height": h, "width": w}
	}
	plan := func(o map[string]any) map[string]any { return map[string]any{"type": "plan", "options": o} }
	ask("version 7", map[string]any{"type": "device", "version": 7})
	ask("no checkpoint is open", plan(map[string]any{}))
	ask("no checkpoint is open", map[string]any{"type": "encode", "clip": clip(1, 8, 8)})
	ask("source 0", map[string]any{"type": "open", "source": map[string]any{}})
	ask("no file ../x", map[string]any{"type": "open", "source": map[string]any{"path": "../x"}})
	ask("not a safetensors file", map[string]any{"type": "open", "source": p.source(4, "x.safetensors")})
	p.open()
	ask("clip of 0 frames", map[string]any{"type": "encode", "clip": clip(0, 8, 8)})
	ask("clip of 1 frames of 8x1000000", map[string]any{"type": "encode", "clip": clip(1, 8, 1000000)})
	ask("frame 0 of the clip: got 1536 bytes, 16x25 needs 1600", map[string]any{"type": "encode", "clip": clip(1, 16, 25)})
	ask("format \".zip\"", map[string]any{"type": "encode", "clip": clip(1, 16, 24), "options": map[string]any{"format": ".zip"}})
	ask("tile \"big\"", plan(map[string]any{"tile": "big"}))
	ask("scale \"x\"", plan(map[string]any{"scale": "x"}))
	ask("direction \"up\"", plan(map[string]any{"direction": "up", "frames": 1, "height": 1, "width": 1}))
	ask("at most 16384x16384", plan(map[string]any{"direction": "decode", "frames": 1, "height": 1, "width": 1 << 30}))
	ask("metadata tessera.scale is \"bent\"", map[string]any{"type": "decode", "source": p.source(3, "z.safetensors")})
	ask("z.png: extension", map[string]any{"type": "decode", "source": p.source(2, "z.png")})
	short := p.source(2, "z.safetensors")
	short["size"] = len(p.files[2]) + 5
	ask("has the file changed?", map[string]any{"type": "inspect", "source": short})

	id++
	p.receive(map[string]any{"type": "inspect", "id": id, "source": p.source(2, "z.safetensors")}, nil)
	if m, _ := p.end(id); !strings.Contains(string(m.Value), `"shape":[4,3,4,6],"clip":{"frames":9,"height":32,"width":48`) {
		t.Errorf("inspect: %s", m.Value)
	}
	id++
	p.receive(map[string]any{"type": "inspect", "id": id, "source": p.source(5, "z.safetensors")}, nil)
	if m, _ := p.end(id); !strings.Contains(string(m.Value), `"shape":[4,3,4,6],"clip":{"frames":3,"height":32,"width":48`) {
		t.Errorf("inspect of images: %s", m.Value)
	}
}

// Separate images decode to a frame each.
func TestImages(t *testing.T) {
	p, _ := start(t)
	p.files[3] = latentFile(t, map[string]string{latent.MetaImages: "true"})
	p.open()
	p.receive(map[string]any{"type": "decode", "id": 2, "source": p.source(3, "z.safetensors")}, nil)
	if end, all := p.end(2); end.Type != "result" || count(all, "frame") != 3 {
		t.Errorf("%d frames: %s", count(all, "frame"), end.Message)
	}
}

// The page's alpha counts for models of 4 channels only.
func TestClipChannels(t *testing.T) {
	p, _ := start(t)
	p.clip = func(int) []byte { return []byte{255, 0, 51, 0, 0, 255, 204, 102} }
	r := &request{ctx: t.Context(), ID: 1, Clip: clip{Frames: 1, Height: 1, Width: 2}}
	for channels, want := range map[int][]float32{
		3: {1, -1, -0.6, -1, 1, 0.6},
		4: {1, -1, -0.6, -1, -1, 1, 0.6, -0.2},
	} {
		c := &pageClip{s: p.s, r: r, channels: channels, last: -1}
		got := make([]float32, len(want))
		if err := c.ReadFrame(0, got); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			if d := v - want[i]; d > 1e-6 || d < -1e-6 {
				t.Errorf("%d channels: %v, want %v", channels, got, want)
				break
			}
		}
	}
}

// What breaks the protocol ends the connection.
func TestProtocolErrors(t *testing.T) {
	p, _ := start(t)
	for _, header := range []map[string]any{
		{"type": "unknown"}, {"type": "open"}, {"type": "plan", "id": -1}, {"type": 3}, {"id": "x"},
	} {
		if err := p.try(header, nil); err == nil {
			t.Errorf("%v: no error", header)
		}
	}
	if err := p.s.Receive([]byte("{"), nil); err == nil {
		t.Error("no JSON: no error")
	}
	for _, harmless := range []map[string]any{
		{"type": "ack", "id": 99, "seq": 1}, {"type": "cancel", "id": 99}, {"type": "bytes", "id": 9, "read": 9},
	} {
		p.receive(harmless, []byte{1})
	}
	p.open()
	// Requests that nobody works off are bounded.
	p.clip = func(int) []byte { time.Sleep(10 * time.Second); return nil }
	var err error
	for id := 2; id < 100 && err == nil; id++ {
		err = p.try(map[string]any{"type": "encode", "id": id, "clip": map[string]any{"frames": 1, "height": 16, "width": 24}}, nil)
	}
	if err == nil {
		t.Error("a hundred requests: no error")
	}
}

// A page that goes away ends its job, and leaves nothing on the device.
func TestGone(t *testing.T) {
	p, h := start(t)
	p.open()
	p.ack = false
	p.receive(map[string]any{"type": "decode", "id": 2, "source": p.source(2, "z.safetensors"), "options": tiled}, nil)
	p.wait(2, func(m message) bool { return m.Type == "tile" && m.Seq == InFlight })
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	p.s.Close()
	if b := h.dev.Stats().Bytes; b != 0 {
		t.Errorf("%d bytes left on the device", b)
	}
	if len(h.ended) == 0 || !errors.Is(h.ended[0], context.Canceled) {
		t.Errorf("the turn ended with %v", h.ended)
	}
}
