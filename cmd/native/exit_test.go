package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// Errors that another try would meet again exit with 2 or 3, as a single command and as a
// clip of a batch; others exit with 1. docs/guides/many-clips.md lists both.
func TestExitCodes(t *testing.T) {
	dir := workplace(t)
	for name, data := range map[string]string{"file": "", "there.npy": "", "full/precious.txt": "", "cut.safetensors": "\x40\x00\x00\x00\x00\x00\x00\x00{", "folder.npy/x": ""} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		write(t, name, []byte(data))
	}
	clip, err := os.ReadFile(latentFile(t, 16, 2, 2, 2))
	require.NoError(t, err)
	write(t, "clip.safetensors", clip)
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(map[string]int{"/gone.npy": http.StatusNotFound, "/secret.npy": http.StatusForbidden}[r.URL.Path])
	}))
	defer refusing.Close()
	before := tree(t, dir)
	for _, c := range []struct {
		command string // with URL for the server's address
		single  int    // -1: only in a batch
		batch   int    // -1: only as a single command
	}{
		{"decode -m m.safetensors z.safetensors -o x.xyz", job.ExitUsage, job.ExitUsage},
		{"encode -m m.safetensors frames -o x.png", job.ExitUsage, job.ExitUsage},
		{"roundtrip -m m.safetensors frames -o x.xyz", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o none/x.npy", job.ExitUsage, -1}, // a batch creates the folder
		{"encode -m m.safetensors frames -o none/x.npy", job.ExitUsage, -1},
		{"roundtrip -m m.safetensors frames -o none/x.npy", job.ExitUsage, -1},
		{"decode -m m.safetensors z.safetensors -o none/frames", job.ExitUsage, -1},
		{"decode -m m.safetensors z.safetensors -o file/x.npy", job.ExitUsage, job.ExitUsage},
		{"encode -m m.safetensors frames -o file/x.npy", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o file/frames", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o file", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o full", job.ExitUsage, job.ExitUsage},
		{"encode -m m.safetensors frames -o folder.npy", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors clip.safetensors -o x.png", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o " + strings.Repeat("x", 300) + ".npy", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o there.npy --no-clobber", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o z.safetensors", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o x.npy --tile 3", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o x.npy --codec libx264", job.ExitUsage, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o x.npy --records file", -1, job.ExitUsage},
		{"decode -m m.safetensors z.safetensors -o x.npy --records file/records", -1, job.ExitUsage},

		{"decode -m m.safetensors none.safetensors -o x.npy", job.ExitInput, job.ExitInput},
		{"encode -m m.safetensors none.mp4 -o x.npy", job.ExitInput, job.ExitInput},
		{"decode -m m.safetensors cut.safetensors -o x.npy", job.ExitInput, job.ExitInput},
		{"decode -m m.safetensors p-sheet.png -o x.npy", job.ExitInput, job.ExitInput},
		{"decode -m m.safetensors m.safetensors -o x.npy", job.ExitInput, job.ExitInput},
		{"encode -m m.safetensors full -o x.npy", job.ExitInput, job.ExitInput},
		{"encode -m m.safetensors file -o x.npy", job.ExitInput, job.ExitInput},
		{"decode -m none.safetensors z.safetensors -o x.npy", job.ExitInput, job.ExitInput},
		{"decode -m z.safetensors z.safetensors -o x.npy", job.ExitInput, job.ExitInput},
		{"decode -m cut.safetensors z.safetensors -o x.npy", job.ExitInput, job.ExitInput},
		{"decode -m m.safetensors URL/gone.npy -o x.npy", -1, job.ExitInput},
		{"decode -m m.safetensors URL/secret.npy -o x.npy", -1, job.ExitInput},

		{"decode -m m.safetensors z.safetensors -o x.npy --dawn file", job.ExitDevice, job.ExitDevice},
	} {
		c.command = strings.ReplaceAll(c.command, "URL", refusing.URL)
		args := strings.Fields(c.command)
		if c.single >= 0 {
			o := tessera(t, args...)
			assert.Equal(t, c.single, o.code, "%s: %s", c.command, o.stderr)
		}
		if c.batch >= 0 {
			o := tessera(t, append([]string{"batch", "--op=" + args[0]}, args[1:]...)...)
			assert.Equal(t, c.batch, o.code, "batch of %s: %s", c.command, o.stderr)
		}
		require.Equal(t, before, tree(t, dir), "%s changed files", c.command)
	}
	for _, args := range [][]string{{"--manifest=none.jsonl"}, {"--manifest=full"}, {"--manifest=file/x"}, {"none*", "-o", "{name}.npy"}} {
		assert.Equal(t, job.ExitUsage, tessera(t, append([]string{"batch", "-m", "m.safetensors"}, args...)...).code, args)
	}
}

// A folder without write permission is permanent, a full disk is not.
func TestExitCodesOfDisks(t *testing.T) {
	needDevice(t)
	dir := workplace(t)
	require.NoError(t, os.Mkdir("small", 0o777))
	require.NoError(t, os.Mkdir("fixed", 0o555))
	for folder, options := range map[string]string{"small": "size=4k", "fixed": "ro"} {
		if out, err := exec.Command("mount", "-t", "tmpfs", "-o", options, "tmpfs", filepath.Join(dir, folder)).CombinedOutput(); err != nil {
			if runtime.GOOS == "windows" || folder == "small" || os.Geteuid() == 0 {
				t.Skipf("a file system can't be mounted: %s", out)
			}
			continue // permissions do not apply
		}
		defer func() {
			out, err := exec.Command("umount", filepath.Join(dir, folder)).CombinedOutput()
			assert.NoError(t, err, "umount: %s", out)
		}()
	}
	for _, command := range []string{
		"decode -m m.safetensors z.safetensors -o FOLDER/x.npy", "decode -m m.safetensors z.safetensors -o FOLDER/frames",
		"encode -m m.safetensors frames/frame_0000.png -o FOLDER/x.npy --moments", "roundtrip -m m.safetensors frames -o FOLDER/x.npy",
	} {
		for folder, code := range map[string]int{"small": job.ExitFailed, "fixed": job.ExitUsage} {
			if folder == "small" && !strings.HasPrefix(command, "roundtrip") { // 6 KiB
				continue
			}
			args := strings.Fields(strings.ReplaceAll(command, "FOLDER", folder))
			o := tessera(t, args...)
			assert.Equal(t, code, o.code, "%s: %s", args, o.stderr)
			o = tessera(t, append([]string{"batch", "--op=" + args[0], "--records=" + dir}, args[1:]...)...)
			assert.Equal(t, code, o.code, "batch of %s: %s", args, o.stderr)
		}
	}
}
