package tune

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
	"tessera/tests/testenv"
	"tessera/wgsl"
)

// An adapter's speed is that of its fastest kernel, and measured once.
func TestSpeed(t *testing.T) {
	testenv.Long(t)
	dev := gputest.Open(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	speed, err := new(Tuner).Speed(t.Context(), dev, wgsl.F32)
	require.NoError(t, err)
	known, err := new(Tuner).Known(dev.Info())
	require.NoError(t, err)
	require.Len(t, known.Trials, 1)
	assert.Equal(t, speed, known.Trials[0].GFLOPs[known.Trials[0].Kernel])
	for _, other := range known.Trials[0].GFLOPs {
		assert.Less(t, other*cpuMargin, speed)
	}
	before := dev.Stats().Submissions
	again, err := new(Tuner).Speed(t.Context(), dev, wgsl.F32)
	require.NoError(t, err)
	assert.Equal(t, speed, again)
	assert.Equal(t, before, dev.Stats().Submissions)
}
