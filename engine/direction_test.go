package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/tiling"
)

func stepAndOne(step int) int { return 1 + step }

// encoding and decoding are the ways of a model with cells of 8 x 8 pixels and
// four frames.
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

// A picture that the model takes as several equal frames is one slice of them.
func TestPicturesOfSeveralFrames(t *testing.T) {
	d := encoding
	d.Picture = 4
	require.Equal(t, 3, d.Frames(12, true))
	require.Equal(t, []Slice{{0, 4, Whole, 0}, {4, 4, Whole, 0}, {8, 4, Whole, 0}}, d.slices(12, 4, true))
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

// Whatever they are cut into, slices are all the frames in order, and what they
// become is what the clip becomes.
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
