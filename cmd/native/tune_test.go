package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Concurrent runs on a new machine choose the same kernels, although each finds the
// others' trials in progress.
func TestSameKernelsAtOnce(t *testing.T) {
	needDevice(t)
	var list struct{ Library string }
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "devices", "--json").stdout), &list))
	dir := t.TempDir()
	shaders, err := os.UserCacheDir()
	require.NoError(t, err)
	env := []string{"MESA_SHADER_CACHE_DIR=" + shaders} // lavapipe's compiled shaders are not tested here
	for _, name := range []string{"XDG_CACHE_HOME", "LocalAppData"} {
		env = append(env, name+"="+filepath.Join(dir, "cache"))
	}
	clip := demoClip(t, 5, 40, 24)
	outputs := make([]string, 3)
	var all sync.WaitGroup
	for i := range outputs {
		outputs[i] = filepath.Join(dir, string(rune('a'+i))+".npy")
		all.Go(func() {
			o := tesseraEnv(t, env, "encode", "-m", tiny, clip, "-o", outputs[i], "--dawn", list.Library)
			assert.Equal(t, 0, o.code, o.stderr)
		})
	}
	all.Wait()
	require.False(t, t.Failed())
	for _, other := range outputs[1:] {
		require.Equal(t, []byte(read(t, outputs[0])), []byte(read(t, other)), other)
	}
}
