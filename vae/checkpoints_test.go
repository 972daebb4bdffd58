package vae

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu"
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

// made returns the path of a file that make writes the first time.
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

// edited writes a checkpoint with another's tensors after edit.
func edited(t testing.TB, path string, edit func([]synthetic.Raw) []synthetic.Raw) string {
	t.Helper()
	all, meta, err := synthetic.Read(path)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), filepath.Base(path))
	require.NoError(t, synthetic.Create(path, edit(all), meta))
	return path
}

// changed writes a checkpoint after calling change for each tensor; it drops those that
// change does not keep.
func changed(t testing.TB, path string, change func(x *synthetic.Raw) (keep bool)) string {
	t.Helper()
	return edited(t, path, func(all []synthetic.Raw) (kept []synthetic.Raw) {
		for _, x := range all {
			if change(&x) {
				kept = append(kept, x)
			}
		}
		return kept
	})
}

// named writes a checkpoint's tensors under other names.
func named(t testing.TB, path string, name func(string) string) string {
	t.Helper()
	return changed(t, path, func(x *synthetic.Raw) bool {
		x.Name = name(x.Name)
		return true
	})
}

// withOthers writes a checkpoint with additional tensors, each of one zero.
func withOthers(t testing.TB, path string, names ...string) string {
	t.Helper()
	return edited(t, path, func(all []synthetic.Raw) []synthetic.Raw {
		for _, name := range names {
			all = append(all, synthetic.Raw{Spec: safetensors.Spec{Name: name, DType: safetensors.F32, Shape: []int{1}}, Data: make([]byte, 4)})
		}
		return all
	})
}

// unfit is a tensor that makes a checkpoint invalid: of another shape, or missing if the
// shape is nil.
type unfit struct {
	tensor string
	shape  []int
	want   string // part of the error
}

// testUnfit checks that each is refused with what was found.
func testUnfit(t *testing.T, path string, cases []unfit) {
	t.Helper()
	for _, c := range cases {
		file := edited(t, path, func(all []synthetic.Raw) []synthetic.Raw {
			rest := slices.DeleteFunc(all, func(x synthetic.Raw) bool { return x.Name == c.tensor })
			if c.shape == nil {
				require.Less(t, len(rest), len(all), c.tensor)
				return rest
			}
			n := 4
			for _, d := range c.shape {
				n *= d
			}
			return append(rest, synthetic.Raw{Spec: safetensors.Spec{Name: c.tensor, DType: safetensors.F32, Shape: c.shape}, Data: make([]byte, n)})
		})
		_, err := Inspect(file, gpu.Info{Limits: gpu.DefaultLimits}, Settings{})
		require.ErrorIs(t, err, ErrBadModel)
		require.ErrorContains(t, err, c.want, "%s of %v", c.tensor, c.shape)
		require.ErrorContains(t, err, file)
	}
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

// One of several files of a checkpoint is refused with the name of their index, unless it
// has the whole VAE.
func TestPartOfCheckpoint(t *testing.T) {
	whole := smallKL(t, "model-00002-of-00003.safetensors", synthetic.KLConfig{Quant: true})
	m, err := Inspect(whole, gpu.Info{}, Settings{})
	require.NoError(t, err)
	m.Close()
	part := changed(t, whole, func(x *synthetic.Raw) bool { return x.Name != "encoder.conv_out.weight" })
	require.Equal(t, "model-00002-of-00003.safetensors", filepath.Base(part))
	index := filepath.Join(filepath.Dir(part), "model.safetensors.index.json")
	_, err = Inspect(part, gpu.Info{}, Settings{})
	require.ErrorIs(t, err, ErrBadModel)
	require.EqualError(t, err, "vae: "+part+": is one of 3 files of a checkpoint, expected their index "+index+", which is missing")
	require.NoError(t, os.WriteFile(index, []byte("{}"), 0o666))
	_, err = Inspect(part, gpu.Info{}, Settings{})
	require.EqualError(t, err, "vae: "+part+": is one of 3 files of a checkpoint, expected their index "+index+", which lies beside it")
}
