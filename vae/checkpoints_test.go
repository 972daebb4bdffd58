package vae

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// checkpoints are made once for all tests of the package.
var checkpoints struct {
	sync.Mutex
	dir   string
	paths map[string]string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tessera-test-*")
	if err != nil {
		panic(err)
	}
	checkpoints.dir, checkpoints.paths = dir, map[string]string{}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// made is the path of a file that make writes the first time.
func made(t testing.TB, name string, make func(path string) error) string {
	checkpoints.Lock()
	defer checkpoints.Unlock()
	if p := checkpoints.paths[name]; p != "" {
		return p
	}
	p := filepath.Join(checkpoints.dir, name)
	require.NoError(t, make(p), "making %s", name)
	checkpoints.paths[name] = p
	return p
}

func smallCheckpoint(t testing.TB) string {
	return made(t, "small.safetensors", func(path string) error {
		return synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{Widths: []int{32, 64, 96, 96}, Latent: 4, DType: safetensors.F32})
	})
}

func wan(t testing.TB, name string, c synthetic.WanConfig) string {
	return made(t, name+".safetensors", func(path string) error { return synthetic.CreateWan(path, c) })
}

func wan21Checkpoint(t testing.TB) string {
	return wan(t, "wan21_small", synthetic.WanConfig{Dim: 16, Latent: 4, DType: safetensors.F32})
}

func wan22Checkpoint(t testing.TB) string {
	return wan(t, "wan22_small", synthetic.WanConfig{Nested: true, Dim: 20, Decoder: 32, Latent: 4, DType: safetensors.F32})
}

func layeredCheckpoint(t testing.TB) string {
	return wan(t, "layered_small", synthetic.WanConfig{Dim: 12, Latent: 4, Channels: 4, DType: safetensors.F32})
}

func fullCheckpoint(t testing.TB) string {
	testenv.Long(t)
	return made(t, "full.safetensors", func(path string) error {
		return synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{})
	})
}

func full(name string, c synthetic.WanConfig) func(t testing.TB) string {
	return func(t testing.TB) string {
		testenv.Long(t)
		return wan(t, name, c)
	}
}
