package resume

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/app/terminal"
)

// If a plan's memory differs from the stored one, because a smaller plan had to follow,
// decoding starts from the first frame.
func TestResumeOfAnotherPlan(t *testing.T) {
	u := &Folder{Terminal: &terminal.Terminal{Quiet: true}, is: Record{Memory: "that of a plan", Slices: 3, Frames: 9}, written: 9}
	slices, err := u.Begin("another", 16)
	require.NoError(t, err)
	require.Zero(t, slices)
	require.Zero(t, u.written, "frames of the other plan are not these")
	u.is.Slices, u.is.Frames, u.written = 2, 5, 5
	slices, err = u.Begin("and another, in the middle", 16)
	require.NoError(t, err)
	require.Zero(t, slices)
	require.Equal(t, 5, u.written, "frames that were handed on are not made again")
}
