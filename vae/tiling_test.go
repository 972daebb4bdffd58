package vae

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// noise returns the start of a synthetic tensor.
func noise(n int) []float32 {
	wide := make([]float64, n)
	synthetic.Fill("noise", wide)
	v := make([]float32, n)
	for i, x := range wide {
		v[i] = float32(x)
	}
	return v
}

func tiles(how Tiling, h, w, overlap int) Options {
	return Options{Tiling: how, Tile: tiling.Choice{Tile: tiling.Size{H: h, W: w}}, Overlap: tiling.Square(overlap), Unscaled: true}
}

// Exact tiles equal one tile, for tiles that divide the frame or do not, of any shape,
// down to one cell, in slices of one latent frame and of more.
func TestExactTiles(t *testing.T) {
	dev := gputest.Open(t)
	type cut struct{ h, w, chunk int } // in pixels and latent frames
	for _, model := range []struct {
		name string
		path string
		h, w int // cells
		cuts []cut
	}{
		{"wan2.1", tiny(t, synthetic.WanConfig{Dim: 4}), 7, 9, []cut{{24, 40, 1}, {40, 24, 2}, {8, 72, 1}, {64, 80, 1}}},
		{"wan2.1, strip", tiny(t, synthetic.WanConfig{Dim: 4}), 33, 1, []cut{{24, 8, 1}}},
		{"wan2.2", tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}), 5, 6, []cut{{32, 64, 1}, {48, 48, 2}}},
		{"qwen2.1", tiny(t, synthetic.WanConfig{Still: true, Dim: 4, Decoder: 4}), 5, 6, []cut{{32, 64, 1}, {16, 48, 2}}},
		{"layered", tiny(t, synthetic.WanConfig{Dim: 4, Channels: 4}), 4, 5, []cut{{16, 24, 1}}},
		{"upscale2x", tiny(t, synthetic.WanConfig{Dim: 4, Outputs: 12}), 5, 6, []cut{{32, 48, 1}}},
		{"taef2", tinyCheckpoint("taef2_small", smallTAEF2)(t), 7, 9, []cut{{24, 40, 1}, {8, 72, 1}}},
		{"taef2, wide", tinyCheckpoint("taef2_small", smallTAEF2)(t), 1, 60, []cut{{8, 64, 1}}},
		{"taesana", tinyCheckpoint("taesana_small", smallTAESana)(t), 3, 5, []cut{{64, 32, 1}}},
		{"taehv", tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{}), 7, 9, []cut{{24, 40, 1}, {8, 72, 2}}},
		{"taehv, strip", tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{}), 1, 50, []cut{{8, 64, 1}}},
		{"taehv of ltx", tinyTAEHV(t, "taeltx2_3", synthetic.TAEHVConfig{Latent: 128, Patch: 4, Halves: true}), 2, 3, []cut{{32, 64, 1}}},
		{"taehv, wide", tinyTAEHV(t, "wide", synthetic.TAEHVConfig{Blocks: "wide", Decoder: []int{128, 64, 8, 8}}), 4, 3, []cut{{16, 8, 1}}},
		{"taehv, super", tinyTAEHV(t, "super", synthetic.TAEHVConfig{Blocks: "super"}), 5, 4, []cut{{8, 24, 1}, {16, 16, 2}}},
		{"taehv of h3", tinyTAEHV(t, "taeh3", synthetic.TAEHVConfig{Latent: 24, Patch: 2}), 3, 4, []cut{{32, 16, 1}}},
		{"taeqi2.1", tinyCheckpoint("taeqi21_small", smallTAEQI)(t), 4, 5, []cut{{16, 48, 1}}},
		{"hunyuanvideo1.5", narrow15(t), 5, 3, []cut{{48, 32, 1}, {16, 48, 2}, {96, 64, 1}}},
	} {
		m := open(t, dev, model.path, F32)
		c := m.Config
		const frames = 3
		h, w := model.h, model.w
		z := Latent{Channels: c.Latent, Frames: frames, Height: h, Width: w, Data: noise(c.Latent * frames * h * w)}
		px := floats{9, h * c.Spatial, w * c.Spatial, noise(c.Channels * 9 * h * w * c.Spatial * c.Spatial)}
		video := decodeAll(t, m, z, DecodeOptions{Options: Options{Unscaled: true}})
		latent := encodeAll(t, m, px, EncodeOptions{Options: Options{Unscaled: true}})
		for _, cut := range model.cuts {
			o := tiles(Exact, cut.h, cut.w, 64)
			o.Chunk = cut.chunk
			name := fmt.Sprintf("%s, tiles of %dx%d, chunks of %d", model.name, cut.h, cut.w, cut.chunk)
			t.Run(name+", decode", func(t *testing.T) {
				told, done := advances(t)
				got := decodeWatched(t, m, z, DecodeOptions{Options: o}, Watch{Progress: told})
				t.Logf("NMSE %.3g from one tile", nmse(got, video))
				closeTo(t, got, video, 1e-11, "differs from one tile")
				require.Equal(t, 1.0, done(), "progress at the end")
			})
			t.Run(name+", encode", func(t *testing.T) {
				told, done := advances(t)
				got := encodeWatched(t, m, px, EncodeOptions{Options: o}, Watch{Progress: told})
				t.Logf("NMSE %.3g from one tile", nmse(got, latent))
				closeTo(t, got, latent, 1e-11, "differs from one tile")
				require.Equal(t, 1.0, done(), "progress at the end")
			})
		}
	}
}

// Frames that end within a cell, and of odd sizes at every stride, encode as they do at
// once: in exact tiles, in bands, and in a tile that holds the whole frame.
func TestTinyOfAnySize(t *testing.T) {
	dev := gputest.Open(t)
	for _, model := range []struct {
		name, path string
		tile       int
		sizes      [][2]int // pixels
	}{
		{"taew2_1", tinyTAEHV(t, "taew2_1", synthetic.TAEHVConfig{}), 16, [][2]int{{21, 30}, {33, 47}, {41, 20}}},
		{"taew2_2", tinyTAEHV(t, "taew2_2", synthetic.TAEHVConfig{Latent: 48, Patch: 2}), 16, [][2]int{{34, 44}, {49, 35}}},
		{"taesd", tinyCheckpoint("taesd_small", small12)(t), 24, [][2]int{{29, 37}, {9, 101}}},
		{"taesana", tinyCheckpoint("taesana_small", smallTAESana)(t), 32, [][2]int{{37, 70}, {65, 33}}},
	} {
		m := open(t, dev, model.path, F32)
		c, limit := m.Config, m.info.Limits.MaxBinding
		for _, size := range model.sizes {
			t.Run(fmt.Sprintf("%s, %dx%d", model.name, size[0], size[1]), func(t *testing.T) {
				defer func() { m.info.Limits.MaxBinding = limit }()
				h, w := size[0], size[1]
				clip := floats{5, h, w, noise(c.Channels * 5 * h * w)}
				one := encodeAll(t, m, clip, EncodeOptions{Options: Options{Unscaled: true}})
				up := func(n int) int { return (n + c.Spatial - 1) / c.Spatial }
				require.Len(t, one, c.Latent*c.Encoding().Frames(5, false)*up(h)*up(w))
				closeTo(t, encodeAll(t, m, clip, EncodeOptions{Options: tiles(Exact, model.tile, model.tile, 0)}), one, 1e-11, "in exact tiles")
				closeTo(t, encodeAll(t, m, clip, EncodeOptions{Options: tiles(Feather, 320, 320, 64)}), one, 1e-11, "in one feathered tile")
				m.Unload()
				m.info.Limits.MaxBinding = 16 << 10
				closeTo(t, encodeAll(t, m, clip, EncodeOptions{Options: Options{Unscaled: true, Internals: Internals{Least: true}}}), one, 1e-11, "in bands")
				m.Unload()
			})
		}
	}
}

// advances returns a progress callback that must see growing values; done returns the
// last one.
func advances(t *testing.T) (told func(Progress), done func() float64) {
	last := -1.0
	return func(p Progress) {
		require.Greater(t, p.Done, last, "%+v", p)
		require.LessOrEqual(t, p.Done, 1.0, "%+v", p)
		require.LessOrEqual(t, p.Tile, p.Tiles, "%+v", p)
		last = p.Done
	}, func() float64 { return last }
}

// tiny returns a checkpoint of a few channels.
func tiny(t testing.TB, c synthetic.WanConfig) string {
	c.Latent, c.DType = 4, safetensors.F32
	return wan(t, fmt.Sprintf("tiny_%v_%v_%d_%d_%d_%d", c.Nested, c.Still, c.Channels, c.Outputs, c.Dim, c.Decoder), c)
}

// The halo of an inner tile is the sum of its layers' reach: for Wan 2.1's decoder 6
// cells in the first stage, half a cell for the first enlargement, and so on: 12.25, so
// 13. No tile needs less.
func TestHaloIsOfTheLayers(t *testing.T) {
	a := gpu.Info{Limits: gpu.DefaultLimits, Memory: 64 << 30, Type: "discrete"}
	for _, c := range []struct {
		path           string
		decode, encode int // pixels
	}{
		{wan21Checkpoint(t), 13 * 8, 0},
		{wan22Checkpoint(t), 13 * 16, 0},
		{narrow15(t), 14 * 16, 0},
	} {
		m, err := Inspect(c.path, a, Settings{Precision: F32})
		require.NoError(t, err)
		defer m.Close()
		s := m.Config.Spatial
		l, err := m.PlanDecode(t.Context(), 3, 90, 90, DecodeOptions{Options: tiles(Exact, 20*s, 20*s, 0)})
		require.NoError(t, err, m.Config.Model)
		assert.Equal(t, tiling.Square(c.decode), l.Halo, m.Config.Model)
		// Up to four times the latent's own reach lies before a strided layer.
		e, err := m.PlanEncode(t.Context(), 5, 90*s, 90*s, EncodeOptions{Options: tiles(Exact, 20*s, 20*s, 0)})
		require.NoError(t, err, m.Config.Model)
		t.Logf("%s: encode halo %v", m.Config.Model, e.Halo)
	}
}

// shy is a network whose exact tiles read one row less than they should.
type shy struct{ engine.Divisible }

func (n shy) Halo(out tiling.Rect, from, frame tiling.Size) (tiling.Rect, engine.Windows, tiling.Rect) {
	in, windows, part := n.Divisible.Halo(out, from, frame)
	if in.Y0 > 0 {
		in.Y0++
		first := n.Divisible.(*twoParts).stages[0].sampler.layer()
		w := windows[first]
		w.Y -= 2
		windows[first] = w
	}
	return in, windows, part
}

// With the halo a tile has the bits of one tile. One cell less changes one of a few
// latents, if only in its last bits because it is so far away: the halo is no wider than
// necessary.
func TestHaloIsNeeded(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, tiny(t, synthetic.WanConfig{Dim: 4}), F32)
	o := tiles(Exact, 32, 16, 0)
	// Tile 4 has rows 16 to 19 of the latent, and reads cells 3 to 29.
	in, _, _ := m.decoder.net.Parts.Halo(tiling.Rect{Y0: 128, Y1: 160, X1: 16}, tiling.Size{H: 30, W: 2}, tiling.Size{H: 240, W: 16})
	require.Equal(t, [2]int{3, 30}, [2]int{in.Y0, in.Y1}, "rows that tile 4 reads")
	row := func(v []float32) []float32 { // the tile's first
		var r []float32
		for c := range 3 {
			r = append(r, v[(c*240+128)*16:][:16]...)
		}
		return r
	}
	parts := m.decoder.net.Parts
	for data := range slices.Chunk(noise(6*4*60), 4*60) {
		z := Latent{Channels: 4, Frames: 1, Height: 30, Width: 2, Data: data}
		m.decoder.net.Parts = parts
		want := decodeAll(t, m, z, DecodeOptions{Options: Options{Unscaled: true}})
		got := decodeAll(t, m, z, DecodeOptions{Options: o})
		require.True(t, slices.Equal(got, want), "with the halo: NMSE %.3g", nmse(got, want))
		m.decoder.net.Parts = shy{parts}
		got = decodeAll(t, m, z, DecodeOptions{Options: o})
		if !slices.Equal(row(got), row(want)) {
			return
		}
	}
	require.Fail(t, "a cell less makes no difference: the halo is too wide")
}

// The purpose of exact tiles: they need a fraction of the memory, and are the default.
func TestExactIsTheDefaultAndSmall(t *testing.T) {
	testenv.Long(t)
	a := gpu.Info{Limits: gpu.DefaultLimits, Memory: 64 << 30, Type: "discrete"}
	a.Limits.MaxBuffer, a.Limits.MaxBinding = 4<<30, 4<<30
	m, err := Inspect(wan21Checkpoint(t), a, Settings{Precision: F32})
	require.NoError(t, err)
	defer m.Close()
	o := tiles("", 256, 256, 64)
	o.Offload = OffloadOff
	l, err := m.PlanDecode(t.Context(), 5, 90, 160, DecodeOptions{Options: o})
	require.NoError(t, err)
	t.Logf("720p in exact tiles of 256: %s of %s in one tile", engine.Bytes(l.Bytes()), engine.Bytes(l.Untiled))
	require.Equal(t, Exact, l.Tiling)
	require.Zero(t, l.Overlap)
	require.GreaterOrEqual(t, l.Untiled, 3*l.Bytes(), "one tile takes little more")
	// If the whole latent frame exceeds the budget, feathered tiles remain.
	o.Budget = 400 << 20
	o.Shrink = true
	f, err := m.PlanDecode(t.Context(), 5, 1000, 1000, DecodeOptions{Options: o})
	require.NoError(t, err)
	require.Equal(t, Feather, f.Tiling, "without room for a frame of the middle")
	require.LessOrEqual(t, f.Bytes(), o.Budget)
	s, err := Inspect(smallCheckpoint(t), a, Settings{Precision: F32})
	require.NoError(t, err)
	defer s.Close()
	for _, how := range []Tiling{Exact, Diffusers} {
		_, err := s.PlanDecode(t.Context(), 5, 90, 160, DecodeOptions{Options: tiles(how, 256, 256, 64)})
		assert.ErrorIs(t, err, ErrTiling, "SeedVR2 with tiling %s", how)
	}
	l, err = s.PlanDecode(t.Context(), 5, 90, 160, DecodeOptions{Options: o})
	require.NoError(t, err, "SeedVR2")
	require.Equal(t, Feather, l.Tiling, "SeedVR2")
}

// diffusers' tiled decode, written out with whole decodes of pieces.
func TestDiffusersTiles(t *testing.T) {
	dev := gputest.Open(t)
	for _, path := range []string{tiny(t, synthetic.WanConfig{Dim: 4}), tiny(t, synthetic.WanConfig{Nested: true, Dim: 4, Decoder: 4}), smallLTX(t, ltx23Small, nil)} {
		m := open(t, dev, path, F32)
		c := m.Config
		s, patch, pictures := c.Spatial, c.Patch, 1+c.Temporal
		if c.is(ltx) {
			testenv.Long(t)
			patch = 1
		}
		// Tiles of 4 x 5 cells that advance by 3 and 3.
		const h, w, frames = 7, 9, 2
		tile, step := [2]int{4, 5}, [2]int{3, 3}
		o := Options{
			Tiling: Diffusers, Unscaled: true, Tile: tiling.Choice{Tile: tiling.Size{H: tile[0] * s, W: tile[1] * s}},
			Overlap: tiling.Size{H: (tile[0] - step[0]) * s, W: (tile[1] - step[1]) * s},
		}
		z := Latent{Channels: c.Latent, Frames: frames, Height: h, Width: w, Data: noise(c.Latent * frames * h * w)}
		got := decodeAll(t, m, z, DecodeOptions{Options: o})
		piece := func(y, x int) ([]float32, int, int) {
			th, tw := min(tile[0], h-y), min(tile[1], w-x)
			part := Latent{Channels: c.Latent, Frames: frames, Height: th, Width: tw}
			for ch := range c.Latent * frames {
				for r := range th {
					part.Data = append(part.Data, z.Data[(ch*h+y+r)*w+x:][:tw]...)
				}
			}
			return decodeAll(t, m, part, DecodeOptions{Options: Options{Unscaled: true}}), th * s, tw * s
		}
		want := naive(c.Channels*pictures, h*s, w*s, step[0]*s, step[1]*s, (tile[0]-step[0])*s, (tile[1]-step[1])*s, patch,
			func(y, x int) ([]float32, int, int) { return piece(y/s, x/s) })
		closeTo(t, got, want, 1e-12, c.Model+" decodes otherwise")

		// The encoder's tiles are that many patches, or pixels for LTX-2.
		o.Tile.Tile, o.Overlap = tiling.Square(4*s), tiling.Square(s)
		clip := floats{pictures, 9 * s, 7 * s, noise(c.Channels * pictures * 9 * 7 * s * s)}
		moments := encodeAll(t, m, clip, EncodeOptions{Options: o, Moments: true})
		cells, advance := 4*patch, 3*patch
		cut := func(y, x int) ([]float32, int, int) {
			th, tw := min(cells, 9-y), min(cells, 7-x)
			part := floats{pictures, th * s, tw * s, nil}
			for ch := range c.Channels * pictures {
				for r := range th * s {
					part.v = append(part.v, clip.v[(ch*9*s+y*s+r)*7*s+x*s:][:tw*s]...)
				}
			}
			return encodeAll(t, m, part, EncodeOptions{Options: Options{Unscaled: true}, Moments: true}), th, tw
		}
		want = naive(2*c.Latent*2, 9, 7, advance, advance, cells-advance, cells-advance, 1, cut)
		closeTo(t, moments, want, 1e-12, c.Model+" encodes otherwise")
	}
}

// naive is diffusers' tiled_decode in float64: planes of h x w, tiles every dy, dx,
// fading over ey, ex, with one weight for every unit samples.
func naive(planes, h, w, dy, dx, ey, ex, unit int, piece func(y, x int) ([]float32, int, int)) []float64 {
	type tile struct {
		v    []float64
		h, w int
	}
	out := make([]float64, planes*h*w)
	var above []tile
	for y := 0; y < h; y += dy {
		var row []tile
		for x := 0; x < w; x += dx {
			v, th, tw := piece(y, x)
			this := tile{make([]float64, len(v)), th, tw}
			for i := range v {
				this.v[i] = float64(v[i])
			}
			for p := range planes {
				if y > 0 {
					a := above[len(row)]
					e := min(a.h, th, ey)
					for r := range e {
						k := float64(r/unit) / float64(e/unit)
						for q := range tw {
							at := &this.v[(p*th+r)*tw+q]
							*at = a.v[(p*a.h+a.h-e+r)*a.w+q]*(1-k) + *at*k
						}
					}
				}
				if x > 0 {
					b := row[len(row)-1]
					e := min(b.w, tw, ex)
					for q := range e {
						k := float64(q/unit) / float64(e/unit)
						for r := range th {
							at := &this.v[(p*th+r)*tw+q]
							*at = b.v[(p*b.h+r)*b.w+b.w-e+q]*(1-k) + *at*k
						}
					}
				}
				for r := range min(dy, th) {
					copy(out[(p*h+y+r)*w+x:][:min(dx, tw)], this.v[(p*th+r)*tw:])
				}
			}
			row = append(row, this)
		}
		above = row
	}
	return out
}

// Exact tiles use the planned memory and leave no files behind, also if the spool is not
// a file.
func TestExactSpool(t *testing.T) {
	dev := gputest.Open(t)
	m := open(t, dev, tiny(t, synthetic.WanConfig{Dim: 4}), F32)
	z := Latent{Channels: 4, Frames: 2, Height: 6, Width: 6, Data: noise(4 * 2 * 36)}
	dir := ownTemp(t)
	l, err := m.PlanDecode(t.Context(), 2, 6, 6, DecodeOptions{Options: tiles(Exact, 24, 24, 0)})
	require.NoError(t, err)
	want := decodeAll(t, m, z, DecodeOptions{Options: tiles(Exact, 24, 24, 0)})
	require.LessOrEqual(t, dev.Stats().PeakBytes, l.Bytes(), "more on the device than was planned")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "spools left behind")
	open := 0
	o := tiles(Exact, 24, 24, 0)
	o.Internals.Spool = func(size int64) (Spool, error) {
		open++
		return &counted{make([]byte, size), &open}, nil
	}
	require.True(t, slices.Equal(decodeAll(t, m, z, DecodeOptions{Options: o}), want), "another spool, another result")
	require.Zero(t, open, "spools that are still open")
}

type counted struct {
	data []byte
	open *int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error)  { return copy(p, c.data[at:]), nil }
func (c *counted) WriteAt(p []byte, at int64) (int, error) { return copy(c.data[at:], p), nil }
func (c *counted) Close() error                            { *c.open--; return nil }
