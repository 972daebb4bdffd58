//go:build !js

package dawn

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
	"tessera/tests/testenv"
)

// TestHidden: the Dawn in ONNX Runtime's provider is a driver like others. A provider of
// another version is refused, because its functions lie elsewhere.
func TestHidden(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the pinned providers are for Linux and Windows, where apiVersions has one")
	}
	if !inChild(t) {
		return
	}
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	path := filepath.Join(cache, "tessera", "dawn", cacheHidden, names()[1])
	data, err := os.ReadFile(path)
	if err != nil {
		testenv.Missing(t, "%v; run tools/deps.sh --test", err)
	}
	other := filepath.Join(t.TempDir(), names()[1])
	require.NoError(t, os.WriteFile(other, append(data, 0), 0o600))
	_, err = Adapters(driver.Options{Library: other})
	drivertest.Wants(t, err, driver.ErrNoLibrary, other, "its Dawn is not exported: its sha256 is", "expected that of onnxruntime-ep-webgpu 0.4.0")
	testDriver(t, path)
}
