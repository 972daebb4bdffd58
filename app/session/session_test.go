package session

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	engine "tessera/format/json"
	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

var tiled = map[string]any{"tile": "16", "overlap": "8"}

// A decode's frames equal package vae's, each tile is shown earlier, and the weights are
// uploaded once.
func TestDecode(t *testing.T) {
	p, h := start(t)
	p.open()
	m, err := vae.OpenReader(h.dev, bytes.NewReader(p.files[1]), int64(len(p.files[1])), "small", vae.Settings{Precision: vae.F32})
	require.NoError(t, err)
	l, err := media.DecodeLatent(bytes.NewReader(p.files[2]), int64(len(p.files[2])), "z.safetensors", media.LatentOptions{Channels: 4})
	require.NoError(t, err)
	o := vae.DecodeOptions{RGBA8: true, Options: vae.Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8), Chunk: vae.AutoChunk}}
	var want [][]byte
	for f, err := range m.Decode(context.Background(), latent.Latent{Channels: 4, Frames: 3, Height: 4, Width: 6, Data: l.Data}, o) {
		require.NoError(t, err)
		want = append(want, slices.Clone(f.RGBA))
	}
	m.Close()

	p.receive(map[string]any{"type": "decode", "id": 2, "source": p.source(2, "z.safetensors"), "options": tiled}, nil)
	end, all := p.end(2)
	require.Equal(t, "result", end.Type, end.Message)
	n := 0
	for _, m := range all {
		if m.Type == "frame" {
			require.Less(t, n, len(want))
			assert.True(t, bytes.Equal(m.payload, want[n]), "frame %d differs", n)
			n++
		}
	}
	var d done
	require.NoError(t, json.Unmarshal(end.Value, &d))
	assert.Equal(t, 9, d.Frames)
	assert.NotZero(t, d.PeakBytes)
	assert.Contains(t, d.Operations[0].Name, "conv3d")
	i := slices.IndexFunc(all, func(m message) bool { return m.Type == "plan" })
	tiles := len(all[i].Plan.Tiles)
	assert.Equal(t, len(want), n)
	assert.GreaterOrEqual(t, tiles, 4)
	assert.Equal(t, 9*tiles, count(all, "tile"))
	assert.NotZero(t, count(all, "loading"))
	assert.LessOrEqual(t, count(all, "queued"), 1)
	p.receive(map[string]any{"type": "decode", "id": 3, "source": p.source(2, "z.safetensors"), "options": map[string]any{"tile": "off"}}, nil)
	_, all = p.end(3)
	assert.Zero(t, count(all, "loading"), "the second decode")
	assert.Equal(t, 9, count(all, "frame"))
	assert.Zero(t, count(all, "tile"))
}

// The device's speed is measured between jobs, for an open checkpoint.
func TestMeasure(t *testing.T) {
	p, h := start(t)
	p.receive(map[string]any{"type": "measure", "id": 7}, nil)
	m, _ := p.end(7)
	assert.Equal(t, "bad_input", m.Code, m.Message)
	p.open()
	p.receive(map[string]any{"type": "measure", "id": 8}, nil)
	m, _ = p.end(8)
	require.Equal(t, "result", m.Type, m.Message)
	var v speed
	require.NoError(t, json.Unmarshal(m.Value, &v))
	assert.Greater(t, v.FLOPs, 1e8)
	assert.Zero(t, h.dev.Stats().Bytes, "bytes left on the device")
}

// The engine waits with InFlight unacknowledged pictures, and continues with each
// acknowledgement.
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
		require.Equal(t, sent, pictures(), "pictures with %d acknowledged", sent-InFlight)
		p.receive(map[string]any{"type": "ack", "id": 2, "seq": sent - InFlight + 1}, nil)
	}
	m, _ := p.end(2)
	assert.Equal(t, "result", m.Type, m.Message)
	// A job that waits for acknowledgements can be cancelled.
	p.receive(map[string]any{"type": "decode", "id": 3, "source": p.source(2, "z.safetensors"), "options": map[string]any{"tile": "off"}}, nil)
	p.wait(3, func(m message) bool { return m.Type == "frame" && m.Seq == InFlight })
	p.receive(map[string]any{"type": "cancel", "id": 3}, nil)
	m, _ = p.end(3)
	assert.Equal(t, "cancelled", m.Code, m.Message)
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
	require.Equal(t, "result", end.Type, end.Message)
	require.Equal(t, 3, count(all, "frame"))
	require.Equal(t, 4, count(all, "quality"))
	require.Equal(t, 2, count(all, "plan"))
	i := slices.IndexFunc(all, func(m message) bool { return m.Type == "latent" })
	l, err := media.DecodeLatent(bytes.NewReader(all[i].payload), int64(len(all[i].payload)), "latent.latent", media.LatentOptions{Channels: 4})
	require.NoError(t, err)
	assert.Equal(t, 2, l.Frames)
	assert.Equal(t, "30000/1001", l.Meta[latent.MetaFPS])
	assert.Equal(t, "3", l.Meta[latent.MetaFrames])
	// If other sessions need the device, no weights stay on it.
	assert.Zero(t, h.dev.Stats().Bytes, "bytes left on the device")
}

// The page's mistakes are reported as such, and do no harm.
func TestBadInput(t *testing.T) {
	p, _ := start(t)
	p.files[3] = latentFile(t, map[string]string{latent.MetaScale: "bent"})
	p.files[4] = []byte("no latent at all")
	p.files[5] = latentFile(t, map[string]string{latent.MetaImages: "true"})
	id := 10
	code := "bad_input"
	ask := func(want string, header map[string]any) {
		t.Helper()
		id++
		header["id"] = id
		p.receive(header, nil)
		m, _ := p.end(id)
		assert.Equal(t, code, m.Code, header["type"])
		assert.Contains(t, m.Message, want, header["type"])
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
	ask("clip of 1 frames of 1000000x8", map[string]any{"type": "encode", "clip": clip(1, 8, 1000000)})
	ask("frame 0 of the clip: got 1536 bytes, 25x16 needs 1600", map[string]any{"type": "encode", "clip": clip(1, 16, 25)})
	ask("format \".zip\"", map[string]any{"type": "encode", "clip": clip(1, 16, 24), "options": map[string]any{"format": ".zip"}})
	ask("scale \"x\"", plan(map[string]any{"scale": "x"}))
	ask("direction \"up\"", plan(map[string]any{"direction": "up", "frames": 1, "height": 1, "width": 1}))
	ask("at most 16384x16384", plan(map[string]any{"direction": "decode", "frames": 1, "height": 1, "width": 1 << 30}))
	ask("metadata tessera.scale is \"bent\"", map[string]any{"type": "decode", "source": p.source(3, "z.safetensors")})
	ask("z.png: extension", map[string]any{"type": "decode", "source": p.source(2, "z.png")})
	ask(`a\x1b[2J\u202e`, map[string]any{"type": "decode", "source": p.source(2, "a\x1b[2J\u202e.png")})
	short := p.source(2, "z.safetensors")
	short["size"] = len(p.files[2]) + 5
	ask("5 more bytes follow", map[string]any{"type": "inspect", "source": short}) // it reads the header only
	p.files[9] = p.files[2][:len(p.files[2])-5]
	cut := p.source(9, "z.safetensors")
	cut["size"] = len(p.files[2])
	ask("has the file changed?", map[string]any{"type": "decode", "source": cut})
	code = "bad_option"
	ask("tile \"big\"", plan(map[string]any{"tile": "big"}))
	size := map[string]any{"direction": "decode", "frames": 3, "height": 90, "width": 90, "tile": "64", "overlap": "128"}
	ask("overlap 128x128 with tile 64x64", plan(size))

	id++
	p.receive(map[string]any{"type": "inspect", "id": id, "source": p.source(2, "z.safetensors")}, nil)
	m, _ := p.end(id)
	assert.Contains(t, string(m.Value), `"shape":[4,3,4,6],"clip":{"frames":9,"height":32,"width":48`)
	id++
	p.receive(map[string]any{"type": "inspect", "id": id, "source": p.source(5, "z.safetensors")}, nil)
	m, _ = p.end(id)
	assert.Contains(t, string(m.Value), `"shape":[4,3,4,6],"clip":{"frames":3,"height":32,"width":48`)
}

// Separate images decode to one frame each.
func TestImages(t *testing.T) {
	p, _ := start(t)
	p.files[3] = latentFile(t, map[string]string{latent.MetaImages: "true"})
	p.open()
	p.receive(map[string]any{"type": "decode", "id": 2, "source": p.source(3, "z.safetensors")}, nil)
	end, all := p.end(2)
	assert.Equal(t, "result", end.Type, end.Message)
	assert.Equal(t, 3, count(all, "frame"))
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
		require.NoError(t, c.ReadFrame(0, got))
		assert.InDeltaSlice(t, want, got, 1e-6, "%d channels", channels)
	}
}

// A message that breaks the protocol ends the connection.
func TestProtocolErrors(t *testing.T) {
	p, _ := start(t)
	for _, header := range []map[string]any{
		{"type": "unknown"}, {"type": "open"}, {"type": "plan", "id": -1}, {"type": 3}, {"id": "x"},
	} {
		assert.Error(t, p.try(header, nil), header)
	}
	assert.Error(t, p.s.Receive([]byte("{"), nil), "no JSON")
	for _, harmless := range []map[string]any{
		{"type": "ack", "id": 99, "seq": 1}, {"type": "cancel", "id": 99}, {"type": "bytes", "id": 9, "read": 9},
	} {
		p.receive(harmless, []byte{1})
	}
	p.open()
	// The number of waiting requests is limited.
	p.clip = func(int) []byte { time.Sleep(10 * time.Second); return nil }
	var err error
	for id := 2; id < 100 && err == nil; id++ {
		err = p.try(map[string]any{"type": "encode", "id": id, "clip": map[string]any{"frames": 1, "height": 16, "width": 24}}, nil)
	}
	assert.Error(t, err, "a hundred requests")
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
	assert.Zero(t, h.dev.Stats().Bytes, "bytes left on the device")
	require.NotEmpty(t, h.ended)
	assert.ErrorIs(t, h.ended[0], context.Canceled)
}

// The page has equal constants.
func TestProtocolOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../web/protocol.js")
	require.NoError(t, err)
	require.Contains(t, string(page), fmt.Sprintf("export const version = %d;", Version))
	require.Contains(t, string(page), fmt.Sprintf("export const inFlight = %d;", InFlight))
}

// A page can send each word of a request, and request each format of a latent.
func TestWordsOfAPage(t *testing.T) {
	for _, word := range job.Words() {
		var r request
		require.NoError(t, engine.Unmarshal(fmt.Appendf(nil, `{"options":{%q:"said"}}`, word.Name), &r))
		assert.Equal(t, "said", r.Options.text(word.Name), "the option %s", word.Name)
	}
	for _, format := range job.LatentFormats() {
		name, err := options{Format: "." + format}.latentName()
		require.NoError(t, err)
		assert.Equal(t, "latent."+format, name)
	}
	name, err := options{}.latentName()
	require.NoError(t, err)
	assert.Equal(t, "latent.safetensors", name)
	_, err = options{Format: ".pth"}.latentName()
	assert.EqualError(t, err, `session: format ".pth", expected .safetensors, .latent or .npy`)
}

// typedefs returns the fields of the page's protocol, by name.
func typedefs(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../web/protocol.js")
	require.NoError(t, err)
	all := map[string][]string{}
	listed := regexp.MustCompile(`(?s)@typedef \{object\} (\w+)`)
	inline := regexp.MustCompile(`(?s)@typedef \{(?:(\w+) & )?\{(.*?)\}\} (\w+)`)
	property, member := regexp.MustCompile(`@property \{.*?\} \[?(\w+)`), regexp.MustCompile(`(\w+)\??: `)
	for _, comment := range regexp.MustCompile(`(?s)/\*\*.*?\*/`).FindAllString(string(page), -1) {
		if m := listed.FindStringSubmatch(comment); m != nil {
			for _, f := range property.FindAllStringSubmatch(comment, -1) {
				all[m[1]] = append(all[m[1]], f[1])
			}
		} else if m := inline.FindStringSubmatch(comment); m != nil {
			all[m[3]] = slices.Clone(all[m[1]])
			for _, f := range member.FindAllStringSubmatch(m[2], -1) {
				all[m[3]] = append(all[m[3]], f[1])
			}
		}
	}
	return all
}

// The page's protocol lists the fields of every message to it, and of its requests. In
// addition it has the type and, for pictures and files, the bytes after the header.
func TestFieldsOfThePage(t *testing.T) {
	said := typedefs(t)
	for name, c := range map[string]struct {
		message any
		besides []string // in the page's objects, but not in a header
	}{
		"Device": {device{}, nil}, "Limits": {limits{}, nil}, "Model": {model{}, nil}, "LatentInfo": {latentInfo{}, nil},
		"Rect": {rect{}, nil}, "Plan": {plan{}, nil}, "PlanOptions": {options{}, nil}, "ClipInfo": {clip{}, nil},
		"Operation": {operation{}, nil}, "Done": {done{}, nil}, "Speed": {speed{}, nil},
		"QueuedEvent": {queuedEvent{}, []string{"type"}}, "LoadingEvent": {loadingEvent{}, []string{"type"}},
		"CompilingEvent": {compilingEvent{}, []string{"type"}},
		"WarningEvent":   {warningEvent{}, []string{"type"}}, "PlanEvent": {planEvent{}, []string{"type"}},
		"TileEvent": {tileEvent{}, []string{"type", "rgba"}}, "FrameEvent": {frameEvent{}, []string{"type", "rgba"}},
		"ProgressEvent": {progressEvent{}, []string{"type"}}, "LatentEvent": {latentEvent{}, []string{"type", "file"}},
		"QualityEvent": {qualityEvent{}, []string{"type"}},
	} {
		fields := slices.Clone(c.besides)
		for _, f := range reflect.VisibleFields(reflect.TypeOf(c.message)) {
			if tag := f.Tag.Get("json"); tag != "" && !inEvent(reflect.TypeOf(c.message), f) {
				fields = append(fields, tag)
			}
		}
		assert.ElementsMatch(t, fields, said[name], "%s of web/protocol.js, beside package session's", name)
	}
}

// inEvent reports whether a field is of the event that a message starts with.
func inEvent(message reflect.Type, f reflect.StructField) bool {
	return len(f.Index) > 1 && message.Field(f.Index[0]).Type == reflect.TypeFor[event]()
}

// A warning names no package, like an error: the page shows both as they are.
func TestWarningsNameNoPackage(t *testing.T) {
	p, _ := start(t)
	p.open()
	m, err := p.s.plannerModel()
	require.NoError(t, err)
	require.NoError(t, (&task{s: p.s, r: &request{ID: 7}, model: m}).warn([]string{"media: a.mp4: no colours"}))
	p.mu.Lock()
	defer p.mu.Unlock()
	assert.Equal(t, "a.mp4: no colours", p.got[len(p.got)-1].Message)
}

// The page receives the progress of compiling shaders, separately from the job's.
func TestCompilingIsTold(t *testing.T) {
	p, _ := start(t)
	(&task{s: p.s, r: &request{ID: 7}}).watch("decode").Compiling(11, 40)
	p.mu.Lock()
	defer p.mu.Unlock()
	last := p.got[len(p.got)-1]
	assert.Equal(t, "compiling", last.Type)
	assert.Equal(t, 7, last.ID)
}
