package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Temporal tiles contribute the whole clip, each with the frames right after the previous
// tile's.
func TestTemporalTiles(t *testing.T) {
	cells := Temporal{Most: 4, Length: 5, Step: 3}
	for _, d := range []Direction{encoding, decoding} {
		if d.Temporal = cells; d.shrinks() {
			d.Temporal = cells.Pixels(d.InFrames)
		}
		fade := &Faded{Keep: d.Temporal.Step * d.OutFrames / d.InFrames, Extent: d.OutFrames}
		for latent := 1; latent <= 20; latent++ {
			frames := (latent-1)*d.InFrames + 1
			all := d.slices(frames, 1, false)
			if latent <= cells.Most {
				require.Equal(t, []Slice{{N: frames, at: Whole}}, all)
				continue
			}
			out := 0
			seen := map[int]Slice{}
			for i, s := range all {
				require.Equal(t, i*d.Temporal.Step, s.T, "tile %d of %d frames", i, frames)
				made := (s.N-1)/d.InFrames*d.OutFrames + 1
				require.GreaterOrEqual(t, made, fade.Extent+min(i, 1), "tile %d of %d frames has what fades", i, frames)
				if i == 0 {
					out += min(fade.Keep+1, made)
				} else {
					out += min(fade.Keep, made-1)
				}
				if before, ok := seen[s.Kind]; ok {
					require.Equal(t, [2]int{before.N, int(before.at)}, [2]int{s.N, int(s.at)}, "tiles of kind %d", s.Kind)
				}
				seen[s.Kind] = s
			}
			last := all[len(all)-1]
			require.Equal(t, frames, last.T+last.N)
			require.Equal(t, d.Frames(frames, false), out, "of %d frames", frames)
			require.Len(t, seen, all[len(all)-1].Kind+1, "kinds are numbered as they come")
		}
	}
	require.Equal(t, Temporal{Most: 16, Length: 17, Step: 12}, cells.Pixels(4))
}
