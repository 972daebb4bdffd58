package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// For any layers, clip and slices: each frame is made when its input has arrived, no
// convolution keeps more than two frames, the slices read the whole clip and make the
// whole result, and most are of few kinds.
func TestAheadSlices(t *testing.T) {
	for _, doubles := range [][]bool{
		{false}, {false, false, true, false}, {true}, {false, true, true, false, true},
		{false, false, false, true, false, false, true, false, false, false, true, false},
	} {
		for frames := 2; frames < 14; frames++ {
			for _, step := range []int{1, 2, 5, 100} {
				for _, doubles := range doubles { // as many latent frames
					if doubles {
						step *= 2
					}
				}
				name := fmt.Sprint(doubles, frames, step)
				slices, lookaheads := lookaheadSlices(doubles, frames, step)
				total, come := []int{frames}, make([]int, len(doubles)+1)
				for k, doubles := range doubles {
					total = append(total, total[k])
					if doubles {
						total[k+1] = 2*total[k] - 1
					}
				}
				for i, s := range slices {
					require.Equal(t, come[0], s.T, name)
					require.Equal(t, i == 0, s.at == First, name)
					made, p := s.N, lookaheads[s.Kind]
					for k, doubles := range doubles {
						before := come[k]
						come[k] += made
						require.GreaterOrEqual(t, made, 0, name)
						if doubles {
							made = 2*come[k] - 1 - come[k+1]
							continue
						}
						require.Equal(t, before-come[k+1], p[0].lag, name)
						require.LessOrEqual(t, p[0].lag, 1, name)
						made, p = p[0].frames, p[1:]
						last := come[k+1] + made - 1 // last frame so far; it reads one more, if there is one
						require.LessOrEqual(t, min(last+1, total[k]-1), come[k]-1, name)
					}
					require.Empty(t, p)
					require.Positive(t, made, name)
					come[len(doubles)] += made
				}
				require.Equal(t, total, come, name)
				require.LessOrEqual(t, len(lookaheads), len(slices))
			}
		}
	}
	_, lookaheads := lookaheadSlices([]bool{false, false, true, false}, 1000, 2)
	require.LessOrEqual(t, len(lookaheads), 5)
}
