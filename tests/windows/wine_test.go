// Package windows tests the archive for Windows under Wine, like a user: unpacked into
// a folder and run from there. tools/windows.sh sets Wine up and passes its location;
// without that the tests skip.
package windows

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wine is the set-up from tools/windows.sh.
type wine struct {
	run   string // command that runs its arguments in the chroot, from the folder in the first one
	root  string // of the chroot
	drive string // C:, as a folder of this system
	dist  string // folder with the archives
	newer string // a newer Dawn for Windows, of the stable API
}

// program is an unpacked archive.
type program struct {
	wine
	dir string // as a folder of this system
}

// folder has a space, and letters beyond ASCII in both cases.
const folder = `Öğrenci Işıl\İndirilen 映像`

func setUp(t *testing.T) wine {
	t.Helper()
	w := wine{os.Getenv("TESSERA_WINE"), os.Getenv("TESSERA_WINE_ROOT"), "", os.Getenv("TESSERA_DIST"), os.Getenv("TESSERA_NEWER_DAWN")}
	if w.run == "" {
		t.Skip("no Wine: tools/windows.sh runs this")
	}
	w.drive = filepath.Join(w.root, "wine/prefix/drive_c")
	fresh.Do(func() {
		for _, dir := range w.bundles() {
			os.RemoveAll(dir)
		}
	})
	return w
}

// fresh removes what programs of other versions unpacked in earlier runs.
var fresh sync.Once

// bundles returns the folders into which programs have unpacked their libraries.
func (w wine) bundles() []string {
	found, _ := filepath.Glob(filepath.Join(w.drive, "users/*/AppData/Local/tessera/dawn/dawn-*"))
	return found
}

// unpack unpacks the archive for a system, such as windows-amd64, into a new folder
// below parent.
func (w wine) unpack(t *testing.T, system, parent string) program {
	t.Helper()
	archives, _ := filepath.Glob(filepath.Join(w.dist, "tessera-*-"+system+".zip"))
	require.Len(t, archives, 1, "archives for %s in %s", system, w.dist)
	parent = filepath.Join(parent, strings.ReplaceAll(folder, `\`, "/"))
	os.RemoveAll(parent)
	z, err := zip.OpenReader(archives[0])
	require.NoError(t, err)
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		require.NoError(t, err)
		data, err := io.ReadAll(r)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(parent, f.Name)), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(parent, f.Name), data, f.Mode()))
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	return program{w, filepath.Join(parent, strings.TrimSuffix(filepath.Base(archives[0]), ".zip"))}
}

// outcome is the end of a run.
type outcome struct {
	code           int
	stdout, stderr string
}

// run starts the Windows program from its own folder. vars are environment
// variables, NAME=VALUE.
func (p program) run(t *testing.T, vars []string, args ...string) outcome {
	t.Helper()
	return p.start(t, p.dir, slices.Concat([]string{"env"}, vars, []string{"wine", p.windows("tessera.exe")}, args))
}

// start runs a command line in the chroot, from dir. Wine's server kills a process that
// is slow to end, as those of Direct3D 12 are on a busy machine, and its exit code is
// lost. start repeats such a line, twice at most.
func (w wine) start(t *testing.T, dir string, line []string) (o outcome) {
	t.Helper()
	inside, err := filepath.Rel(w.root, dir)
	require.NoError(t, err)
	for range 3 {
		cmd := exec.Command(w.run, append([]string{"/" + inside}, line...)...)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		cmd.WaitDelay = 2 * time.Second // Wine's explorer outlives other programs, and keeps the output of the first one
		err = cmd.Run()
		require.NotNil(t, cmd.ProcessState, "%v", err)
		o = outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
		if o.code >= 0 {
			break
		}
		t.Logf("killed: %v", line)
	}
	return o
}

// windows returns the Windows path of a file below the program's folder, or elsewhere
// on drive C.
func (p program) windows(name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(p.dir, name)
	}
	rel, err := filepath.Rel(p.drive, name)
	if err != nil {
		return err.Error()
	}
	return `C:\` + strings.ReplaceAll(rel, "/", `\`)
}

// want fails unless the run ended with code and printed all words.
func (o outcome) want(t *testing.T, code int, words ...string) {
	t.Helper()
	assert.Equal(t, code, o.code, "exit code")
	for _, w := range words {
		assert.True(t, strings.Contains(o.stdout+o.stderr, w), "no %q", w)
	}
	if t.Failed() {
		t.Logf("standard output:\n%s\nstandard error:\n%s", o.stdout, o.stderr)
	}
}

// decode decodes the JSON output of a run.
func (o outcome) decode(t *testing.T, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(o.stdout), into), "in\n%s\n%s", o.stdout, o.stderr)
}
