package report

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/app/terminal"
	"tessera/gpu"
)

// Without timestamps the profile times submissions and says so; a trace contains them.
func TestProfileWithoutTimestamps(t *testing.T) {
	c := &gpu.Command{Label: "decoder.conv_in", Program: &gpu.Program{Label: "conv3d_f32"}}
	s := NewProfile("decode", &gpu.Profile{Wall: 2 * time.Second, Pieces: []gpu.Piece{
		{Label: "decoder 1x2x2", Begin: time.Second, End: 1500 * time.Millisecond, Commands: []gpu.Ran{{Command: c, Cost: gpu.Cost{FLOPs: 3e9, Bytes: 5e6}}}},
	}})
	var told bytes.Buffer
	s.Print(&terminal.Terminal{Stderr: &told})
	require.Contains(t, told.String(), "the adapter has no timestamps, so only submissions are timed, in 1 submissions of at most 500 ms")
	require.Contains(t, told.String(), "3.00   5.00   conv3d_f32")
	require.NotContains(t, told.String(), "GFLOP/s")
	events := s.trace(1)
	require.Len(t, events, 3)
	require.Equal(t, "X", events[2].Phase)
	require.InDelta(t, 5e5, events[2].Length, 1e-9)
}
