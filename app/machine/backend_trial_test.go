package machine

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/testenv"
	"tessera/tune"
)

// Of two ways to the same card, here two drivers of the processor, the one that a trial
// finds faster is opened. Later starts remember it, and the options overrule it.
func TestBackendTrial(t *testing.T) {
	if os.Getenv("TESSERA_CHILD") != "" {
		backendTrial(t)
		return
	}
	testenv.Long(t)
	library := gputest.Open(t).Info().Library
	drivers := testenv.DriverVariables(testenv.TwoDrivers(t))
	cmd := exec.Command(os.Args[0], "-test.run=^TestBackendTrial$", "-test.v") // #nosec G204 -- this test again
	cmd.Env = append(os.Environ(), "TESSERA_CHILD=it", "TESSERA_DAWN="+library, "XDG_CACHE_HOME="+t.TempDir())
	cmd.Env = append(cmd.Env, drivers...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

// backendTrial is the test in a process with both drivers.
func backendTrial(t *testing.T) {
	require.NoError(t, os.Unsetenv("TESSERA_NO_TUNE"))
	rival = func(a gpu.Info, all []gpu.Info) *gpu.Info {
		return &all[slices.IndexFunc(all, func(b gpu.Info) bool { return b.Index != a.Index })]
	}
	var said []string
	opened := func(o gpu.Options) (gpu.Info, string) {
		said = nil
		dev, why, err := OpenFaster(context.Background(), &tune.Tuner{Say: func(text string) { said = append(said, text) }}, o)
		require.NoError(t, err)
		defer dev.Close()
		return dev.Info(), why
	}
	best := gpu.Options{Adapter: -1}

	usual, why := opened(gpu.Options{Adapter: -1, Backend: "vulkan"})
	assert.Zero(t, usual.Index)
	assert.Empty(t, why, "there is no choice")
	assert.Empty(t, said)

	faster, why := opened(best)
	assert.Contains(t, said, "choosing between vulkan and vulkan")
	speeds, known := contest{usual, *rival(usual, list(t))}.load()
	require.True(t, known)
	assert.Equal(t, speeds[1] > speeds[0], faster.Index != usual.Index, "%v", speeds)
	t.Logf("the default is %s, the faster one %s: %s", usual.Name, faster.Name, why)

	again, remembered := opened(best)
	assert.Equal(t, faster.Name, again.Name)
	assert.Equal(t, why, remembered)
	assert.Empty(t, said, "no trial")

	for _, o := range []gpu.Options{{Adapter: -1, Backend: "vulkan"}, {Adapter: 0}} {
		overruled, why := opened(o)
		assert.Equal(t, usual.Name, overruled.Name)
		assert.Empty(t, why)
	}
}

func list(t *testing.T) []gpu.Info {
	all, err := Adapters(gpu.Options{Adapter: -1})
	require.NoError(t, err)
	require.Len(t, all, 2)
	return all
}
