package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/tiling"
)

func stepAndOne(step int) int { return 1 + step }

// encoding and decoding are the directions of a model with cells of 8 x 8 pixels and four
// frames.
var (
	encoding = Direction{Name: "encode", In: 8, Out: 1, InFrames: 4, OutFrames: 1, InPatch: 1, OutPatch: 1, InChannels: 3, OutChannels: 8, First: stepAndOne}
	decoding = Direction{Name: "decode", In: 1, Out: 8, InFrames: 1, OutFrames: 4, InPatch: 1, OutPatch: 1, InChannels: 4, OutChannels: 3, First: stepAndOne}
)

func TestFrames(t *testing.T) {
	for _, c := range []struct{ pixels, latent int }{{1, 1}, {5, 2}, {9, 3}, {81, 21}} {
		require.Equal(t, c.latent, encoding.Frames(c.pixels, false), "of %d frames", c.pixels)
		require.Equal(t, c.pixels, decoding.Frames(c.latent, false), "of %d latent frames", c.latent)
	}
	for _, n := range []int{1, 2, 7} {
		require.Equal(t, n, encoding.Frames(n, true), "of %d pictures", n)
		require.Equal(t, n, decoding.Frames(n, true), "of %d pictures", n)
	}
}

// A network of groups reads whole groups, and a whole group for a picture.
func TestGroupsOfFrames(t *testing.T) {
	d := encoding
	d.Groups, d.First = true, func(step int) int { return step }
	require.Equal(t, 3, d.Frames(9, false))
	require.Equal(t, []Slice{{0, 4, First, 0, false}, {4, 4, Steady, 1, false}, {8, 4, Steady, 1, false}}, d.slices(9, 4, false))
	require.Equal(t, []Slice{{0, 12, Whole, 0, false}}, d.slices(9, 12, false))
	require.Equal(t, 3, d.Frames(3, true))
	require.Equal(t, []Slice{{0, 4, Whole, 0, false}, {4, 4, Whole, 0, false}, {8, 4, Whole, 0, false}}, d.slices(3, 4, true))
}

// A network of groups may make or read as many frames for a clip's first latent frame as
// for the others, if the number of latent frames is even.
func TestFullClips(t *testing.T) {
	e, d := encoding, decoding
	e.Groups, e.Full, d.Full = true, 8, 2
	e.First, d.First = func(step int) int { return step }, func(step int) int { return step }
	for _, c := range []struct{ pixels, latent int }{{1, 1}, {8, 2}, {9, 3}, {16, 4}} {
		require.Equal(t, c.latent, e.Frames(c.pixels, false), "of %d frames", c.pixels)
		require.Equal(t, c.pixels, d.Frames(c.latent, false), "of %d latent frames", c.latent)
	}
	require.Equal(t, 2, d.Frames(2, true))
	require.Equal(t, []Slice{{0, 4, First, 0, false}, {4, 4, Steady, 1, false}}, e.slices(8, 4, false))
	require.Equal(t, []Slice{{0, 8, First, 0, false}, {8, 4, Steady, 1, false}}, e.slices(9, 8, false))
}

// In cycles of five latent frames, the first of each stands for one frame. An encoder
// starts again with each cycle, a decoder continues.
func TestCycles(t *testing.T) {
	step := func(step int) int { return step }
	e, d := encoding, decoding
	e.Groups, e.Cycle, e.First, d.Cycle, d.First = true, 5, step, 5, step
	for _, c := range []struct{ pixels, latent int }{{1, 1}, {5, 2}, {17, 5}, {18, 6}, {22, 7}, {39, 12}} {
		require.Equal(t, c.latent, e.Frames(c.pixels, false), "of %d frames", c.pixels)
		require.Equal(t, c.pixels, d.Frames(c.latent, false), "of %d latent frames", c.latent)
	}
	require.Equal(t, []Slice{{0, 16, First, 0, false}, {16, 4, Steady, 1, false}, {20, 8, Whole, 2, true}}, e.slices(22, 16, false))
	require.Equal(t, []Slice{{0, 4, First, 0, false}, {4, 1, Steady, 1, false}, {5, 2, Steady, 2, true}}, d.slices(7, 4, false))
	require.Equal(t, []Slice{{0, 5, First, 0, false}, {5, 5, Steady, 1, true}, {10, 2, Steady, 2, true}}, d.slices(12, 8, false))
	require.Equal(t, []Slice{{0, 2, Whole, 0, false}}, d.slices(2, 4, false))
}

// Slices are batches, whatever the chunk; the first also has the remainder. In a multiple
// of batches no latent frame stands for a single frame.
func TestBatches(t *testing.T) {
	e, d := encoding, decoding
	e.Batch, e.Full, d.Batch, d.Full = 8, 8, 2, 2
	for _, c := range []struct{ pixels, latent int }{{1, 1}, {8, 2}, {9, 3}, {16, 4}, {17, 5}, {49, 13}} {
		require.Equal(t, c.latent, e.Frames(c.pixels, false), "of %d frames", c.pixels)
		require.Equal(t, c.pixels, d.Frames(c.latent, false), "of %d latent frames", c.latent)
	}
	for _, chunk := range []int{1, 5} {
		require.Equal(t, []Slice{{0, 9, First, 0, false}, {9, 8, Steady, 1, false}}, e.slices(17, chunk*e.InFrames, false))
		require.Equal(t, []Slice{{0, 8, First, 0, false}, {8, 8, Steady, 1, false}, {16, 8, Steady, 1, false}}, e.slices(24, chunk*e.InFrames, false))
		require.Equal(t, []Slice{{0, 3, First, 0, false}, {3, 2, Steady, 1, false}}, d.slices(5, chunk, false))
		require.Equal(t, []Slice{{0, 2, First, 0, false}, {2, 2, Steady, 1, false}}, d.slices(4, chunk, false))
		for latent := 1; latent < 4; latent++ {
			require.Equal(t, []Slice{{0, latent, Whole, 0, false}}, d.slices(latent, chunk, false))
		}
		require.Equal(t, []Slice{{0, 1, Whole, 0, false}, {1, 1, Whole, 0, false}}, d.slices(2, chunk, true))
		require.Equal(t, []int{2, 2}, []int{e.chunk(chunk), d.chunk(chunk)})
	}
	require.Equal(t, 3, encoding.chunk(3))
}

func TestSize(t *testing.T) {
	for _, c := range []struct{ pixels, cells tiling.Size }{
		{tiling.Square(8), tiling.Square(1)}, {tiling.Size{H: 720, W: 1280}, tiling.Size{H: 90, W: 160}},
	} {
		h, w := encoding.Size(c.pixels.H, c.pixels.W)
		require.Equal(t, c.cells, tiling.Size{H: h, W: w})
		h, w = decoding.Size(c.cells.H, c.cells.W)
		require.Equal(t, c.pixels, tiling.Size{H: h, W: w})
	}
	require.True(t, encoding.shrinks())
	require.False(t, decoding.shrinks())
	require.Equal(t, [2]int{8, 8}, [2]int{encoding.factor(), decoding.factor()})
}

// However a clip is cut, slices contain all frames in order, and their outputs are the
// clip's output.
func TestSlicesAreTheClip(t *testing.T) {
	for _, d := range []Direction{encoding, decoding} {
		for latent := 1; latent <= 9; latent++ {
			frames := (latent-1)*d.InFrames + 1
			for _, independent := range []bool{false, true} {
				for chunk := 1; chunk <= 4; chunk++ {
					next, out := 0, 0
					for _, s := range d.slices(frames, chunk*d.InFrames, independent) {
						require.Equal(t, next, s.T)
						next += s.N
						switch {
						case independent:
							require.Equal(t, Slice{T: s.T, N: 1, at: Whole}, s)
							out++
						case s.at == Steady:
							require.Zero(t, s.N%d.InFrames, "frames of a slice")
							out += s.N / d.InFrames * d.OutFrames
						default:
							require.Zero(t, s.T)
							out += d.Frames(s.N, false)
						}
					}
					require.Equal(t, frames, next, "%s in chunks of %d", d.Name, chunk)
					require.Equal(t, d.Frames(frames, independent), out, "%s of %d frames in chunks of %d", d.Name, frames, chunk)
				}
			}
		}
	}
}

func TestTilesOfADirection(t *testing.T) {
	o := tiling.Options{Tile: tiling.Square(24), Overlap: tiling.Square(8)}
	for _, how := range []Tiling{Feather, Diffusers} {
		e, err := encoding.tiles(40, 56, how, o)
		require.NoError(t, err)
		d, err := decoding.tiles(5, 7, how, o)
		require.NoError(t, err)
		require.Equal(t, tiling.Size{H: 5, W: 7}, e.Out, "%s: cells that come out", how)
		require.Equal(t, tiling.Size{H: 40, W: 56}, d.Out, "%s: pixels that come out", how)
		require.Equal(t, [2]int{len(e.Tiles), e.Cols}, [2]int{len(d.Tiles), d.Cols}, how)
		for i := range e.Tiles {
			require.Equal(t, e.Tiles[i].In, d.Tiles[i].Out, "%s: pixels of tile %d", how, i)
			require.Equal(t, e.Tiles[i].Out, d.Tiles[i].In, "%s: cells of tile %d", how, i)
		}
	}
}

func TestWrongDirectionsPanic(t *testing.T) {
	require.NotPanics(t, encoding.check)
	for _, change := range []func(d *Direction){
		func(d *Direction) { d.In = 0 }, func(d *Direction) { d.OutFrames = 0 }, func(d *Direction) { d.InPatch = 0 },
		func(d *Direction) { d.OutChannels = 0 }, func(d *Direction) { d.First = nil },
	} {
		d := encoding
		change(&d)
		require.Panics(t, d.check, "%+v", d)
	}
}
