package windows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
	if d.taken() != "d3d12" || len(d.Devices) != 2 || d.Library != p.windows("webgpu_wrapper.dll") || d.System != "windows/amd64" || len(d.Passed) > 0 {
		t.Errorf("%+v", d)
	}
	if d = p.devices(t, "TESSERA_BACKEND=vulkan"); d.taken() != "vulkan" || len(d.Devices) != 1 {
		t.Errorf("with Vulkan asked for: %+v", d)
	}
	for _, file := range []string{"dxil.dll", "dxcompiler.dll"} {
		t.Run(file, func(t *testing.T) {
			p.hide(t, file)
			d := p.devices(t)
			if d.taken() != "vulkan" || len(d.Passed) != 1 || !strings.Contains(d.Passed[0], "d3d12: "+p.windows(file)+" is missing") {
				t.Errorf("%+v", d)
			}
			p.run(t, nil, "devices", "--backend", "d3d12").want(t, 4, file+" is missing", "unpack the whole archive")
		})
	}
	t.Run("a device fails to open", func(t *testing.T) { // Wine's own Direct3D does, without the library for tests
		d := p.devices(t, "WINEDLLOVERRIDES=d3d12=b")
		if d.taken() != "vulkan" || len(d.Passed) != 1 || !strings.Contains(d.Passed[0], "no device: D3D12") {
			t.Errorf("%+v", d)
		}
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
		if err := os.CopyFS(plain, os.DirFS(p.dir)); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(plain)
		p := program{w, plain}
		data, err := os.ReadFile(w.newer)
		if err != nil {
			t.Fatal(err)
		}
		newer := filepath.Join(p.dir, "webgpu_dawn.dll")
		if err := os.WriteFile(newer, data, 0o666); err != nil {
			t.Fatal(err)
		}
		defer os.Remove(newer)
		if d := p.devices(t); d.Library != p.windows("webgpu_dawn.dll") || d.taken() != "d3d12" {
			t.Errorf("%+v", d)
		}
		if err := os.WriteFile(newer, []byte("damaged"), 0o666); err != nil {
			t.Fatal(err)
		}
		if d := p.devices(t); d.Library != p.windows("webgpu_wrapper.dll") || len(d.Passed) != 1 || !strings.Contains(d.Passed[0], "webgpu_dawn.dll: does not load") {
			t.Errorf("%+v", d)
		}
	})
	t.Run("planted", func(t *testing.T) {
		planted := filepath.Join(w.drive, "planted")
		if err := os.MkdirAll(planted, 0o777); err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(planted)
		names := []string{"webgpu_wrapper.dll", "dxil.dll", "dxcompiler.dll"}
		for _, name := range names {
			p.hide(t, name)
			data, err := os.ReadFile(filepath.Join(p.dir, name+".away"))
			if err == nil {
				err = os.WriteFile(filepath.Join(planted, name), data, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		line := []string{"env", `WINEPATH=C:\planted`, "wine", p.windows("tessera.exe"), "devices"}
		o := w.start(t, planted, line)
		o.want(t, 4, "no usable WebGPU library", p.windows("webgpu_wrapper.dll"), "not there", "unpack all of that into one folder")
		if strings.Contains(o.stderr, `C:\planted`) {
			t.Errorf("looked elsewhere:\n%s", o.stderr)
		}
		if err := os.Rename(filepath.Join(p.dir, names[0]+".away"), filepath.Join(p.dir, names[0])); err != nil {
			t.Fatal(err)
		}
		w.start(t, planted, append(line, "--backend", "d3d12")).want(t, 4, "dxil.dll is missing")
	})
}
