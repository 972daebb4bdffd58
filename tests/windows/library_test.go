package windows

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// devices is the output of `tessera devices --json`, as far as it is used.
type devices struct {
	Version, System, Library string
	Passed                   []string `json:"not_used"`
	Devices                  []struct {
		Name, Backend string
		Taken         bool
		Matrices      []struct{ M, N, K int }
	}
}

// The program's libraries, in the order in which it tries them.
const (
	provider = "onnxruntime_providers_webgpu.dll"
	older    = "webgpu_wrapper.dll"
)

func (p program) devices(t *testing.T, vars ...string) devices {
	t.Helper()
	o := p.run(t, vars, "devices", "--json")
	o.want(t, 0)
	var d devices
	o.decode(t, &d)
	return d
}

func (d devices) taken() string {
	for _, a := range d.Devices {
		if a.Taken {
			return a.Backend
		}
	}
	return "none"
}

// unpacked returns the folder into which the program unpacks its libraries.
func (w wine) unpacked(t *testing.T) string {
	t.Helper()
	found := w.bundles()
	require.Len(t, found, 1)
	return found[0]
}

// apart copies those libraries into a separate folder.
func (p program) apart(t *testing.T) string {
	t.Helper()
	p.devices(t)
	dir := filepath.Join(p.drive, "apart")
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.CopyFS(dir, os.DirFS(p.unpacked(t))))
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Direct3D 12 comes first; without it the program uses Vulkan and says why.
func TestBackends(t *testing.T) {
	w := setUp(t)
	p := w.unpack(t, "windows-amd64", w.drive)
	d := p.devices(t)
	own := p.windows(filepath.Join(w.unpacked(t), provider))
	assert.Equal(t, "d3d12", d.taken())
	assert.Len(t, d.Devices, 2)
	assert.Equal(t, own, d.Library)
	assert.Equal(t, "windows/amd64", d.System)
	assert.Empty(t, d.Passed)
	d = p.devices(t, "TESSERA_BACKEND=vulkan")
	assert.Equal(t, "vulkan", d.taken(), "with Vulkan asked for")
	if assert.Len(t, d.Devices, 1, "with Vulkan asked for") {
		assert.NotEmpty(t, d.Devices[0].Matrices, "of lavapipe 26")
	}
	for _, file := range []string{"dxil.dll", "dxcompiler.dll"} {
		t.Run(file, func(t *testing.T) {
			apart := p.apart(t)
			missing := filepath.Join(apart, file)
			require.NoError(t, os.Remove(missing))
			p.run(t, nil, "devices", "--dawn", p.windows(filepath.Join(apart, provider))).
				want(t, 0, "d3d12", "f16 no ("+p.windows(missing)+" is missing")
			named := "TESSERA_DAWN=" + p.windows(filepath.Join(apart, older))
			d := p.devices(t, named)
			assert.Equal(t, "vulkan", d.taken())
			if assert.Len(t, d.Passed, 1) {
				assert.Contains(t, d.Passed[0], "d3d12: "+p.windows(missing)+" is missing")
			}
			p.run(t, []string{named}, "devices", "--backend", "d3d12").want(t, 4, file+" is missing", "beside Dawn's library")
		})
	}
	t.Run("damaged", func(t *testing.T) {
		file := filepath.Join(w.unpacked(t), "dxil.dll")
		require.NoError(t, os.WriteFile(file, []byte("damaged"), 0o666))
		d := p.devices(t)
		require.Equal(t, own, d.Library)
		require.Equal(t, "d3d12", d.taken())
	})
	t.Run("a device fails to open", func(t *testing.T) { // Wine's own Direct3D does, without the library for tests
		d := p.devices(t, "WINEDLLOVERRIDES=d3d12=b")
		require.Equal(t, "vulkan", d.taken())
		require.Len(t, d.Passed, 1)
		require.Contains(t, d.Passed[0], "no device: D3D12")
	})
	t.Run("no adapter", func(t *testing.T) {
		p.run(t, []string{"VK_DRIVER_FILES=/nonexistent"}, "devices").
			want(t, 4, "no usable adapter", "d3d12: ", "vulkan: ", "is the graphics driver installed")
	})
}

// Libraries come only from inside the program, or from where the user says.
func TestLibraries(t *testing.T) {
	w := setUp(t)
	p := w.unpack(t, "windows-amd64", w.drive)
	t.Run("older", func(t *testing.T) {
		older := p.windows(filepath.Join(p.apart(t), older))
		d := p.devices(t, "TESSERA_DAWN="+older)
		assert.Equal(t, older, d.Library)
		assert.Equal(t, "d3d12", d.taken())
	})
	t.Run("newer", func(t *testing.T) {
		newer := filepath.Join(p.apart(t), "webgpu_dawn.dll")
		copyFile(t, w.newer, newer)
		d := p.devices(t, "TESSERA_DAWN="+p.windows(newer))
		assert.Equal(t, p.windows(newer), d.Library)
		assert.Equal(t, "d3d12", d.taken())
		require.NoError(t, os.WriteFile(newer, []byte("damaged"), 0o666))
		p.run(t, nil, "devices", "--dawn", p.windows(newer)).want(t, 4, "webgpu_dawn.dll", "does not load")
	})
	t.Run("planted", func(t *testing.T) {
		planted := filepath.Join(w.drive, "planted")
		require.NoError(t, os.MkdirAll(planted, 0o777))
		defer os.RemoveAll(planted)
		for _, name := range []string{"webgpu_dawn.dll", provider, older, "dxil.dll", "dxcompiler.dll", "vulkan-1.dll", "msvcp140.dll", "msvcp140_atomic_wait.dll"} {
			for _, dir := range []string{planted, p.dir} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("planted"), 0o666))
			}
		}
		o := w.start(t, planted, []string{"env", `WINEPATH=C:\planted`, "wine", p.windows("tessera.exe"), "devices", "--json"})
		o.want(t, 0)
		var d devices
		o.decode(t, &d)
		assert.Equal(t, p.windows(filepath.Join(w.unpacked(t), provider)), d.Library)
		assert.Len(t, d.Devices, 2)
		assert.Empty(t, d.Passed)
	})
}
