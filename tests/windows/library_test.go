package windows

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// devices is what `tessera devices --json` prints, as far as it is looked at.
type devices struct {
	Version, System, Library string
	Passed                   []string `json:"not_used"`
	Devices                  []struct {
		Name, Backend string
		Taken         bool
		F16           bool
	}
}

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

// Direct3D 12 comes first; without it Vulkan is taken, and the reason is told.
func TestBackends(t *testing.T) {
	w := setUp(t)
	p := w.unpack(t, "windows-amd64", w.drive)
	d := p.devices(t)
	assert.Equal(t, "d3d12", d.taken())
	assert.Len(t, d.Devices, 2)
	assert.Equal(t, p.windows("webgpu_wrapper.dll"), d.Library)
	assert.Equal(t, "windows/amd64", d.System)
	assert.Empty(t, d.Passed)
	d = p.devices(t, "TESSERA_BACKEND=vulkan")
	assert.Equal(t, "vulkan", d.taken(), "with Vulkan asked for")
	assert.Len(t, d.Devices, 1, "with Vulkan asked for")
	for _, file := range []string{"dxil.dll", "dxcompiler.dll"} {
		t.Run(file, func(t *testing.T) {
			p.hide(t, file)
			d := p.devices(t)
			assert.Equal(t, "vulkan", d.taken())
			if assert.Len(t, d.Passed, 1) {
				assert.Contains(t, d.Passed[0], "d3d12: "+p.windows(file)+" is missing")
			}
			p.run(t, nil, "devices", "--backend", "d3d12").want(t, 4, file+" is missing", "unpack the whole archive")
		})
	}
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

// Libraries come from the program's folder and from nowhere else.
func TestLibraries(t *testing.T) {
	w := setUp(t)
	p := w.unpack(t, "windows-amd64", w.drive)
	t.Run("newer beside", func(t *testing.T) {
		// That build of Dawn finds no compiler in a folder with such letters.
		plain := filepath.Join(w.drive, "plain")
		require.NoError(t, os.CopyFS(plain, os.DirFS(p.dir)))
		defer os.RemoveAll(plain)
		p := program{w, plain}
		data, err := os.ReadFile(w.newer)
		require.NoError(t, err)
		newer := filepath.Join(p.dir, "webgpu_dawn.dll")
		require.NoError(t, os.WriteFile(newer, data, 0o666))
		defer os.Remove(newer)
		d := p.devices(t)
		assert.Equal(t, p.windows("webgpu_dawn.dll"), d.Library)
		assert.Equal(t, "d3d12", d.taken())
		require.NoError(t, os.WriteFile(newer, []byte("damaged"), 0o666))
		d = p.devices(t)
		assert.Equal(t, p.windows("webgpu_wrapper.dll"), d.Library)
		require.Len(t, d.Passed, 1)
		assert.Contains(t, d.Passed[0], "webgpu_dawn.dll: does not load")
	})
	t.Run("planted", func(t *testing.T) {
		planted := filepath.Join(w.drive, "planted")
		require.NoError(t, os.MkdirAll(planted, 0o777))
		defer os.RemoveAll(planted)
		names := []string{"webgpu_wrapper.dll", "dxil.dll", "dxcompiler.dll"}
		for _, name := range names {
			p.hide(t, name)
			copyFile(t, filepath.Join(p.dir, name+".away"), filepath.Join(planted, name))
		}
		line := []string{"env", `WINEPATH=C:\planted`, "wine", p.windows("tessera.exe"), "devices"}
		o := w.start(t, planted, line)
		o.want(t, 4, "no usable WebGPU library", p.windows("webgpu_wrapper.dll"), "not there", "unpack all of that into one folder")
		assert.NotContains(t, o.stderr, `C:\planted`, "looked elsewhere")
		require.NoError(t, os.Rename(filepath.Join(p.dir, names[0]+".away"), filepath.Join(p.dir, names[0])))
		w.start(t, planted, append(line, "--backend", "d3d12")).want(t, 4, "dxil.dll is missing")
	})
}
