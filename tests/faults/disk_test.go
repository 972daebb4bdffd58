//go:build linux

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// If the disk gets full at any point, the job fails, and what it keeps is whole: a
// video stays even if its sheet does not fit. Each run has a separate small disk, which
// requires a user namespace, or root.
func TestFullDisk(t *testing.T) {
	needs(t, true)
	disk := t.TempDir()
	o, _ := onDisk(t, disk, 1<<20, "true")
	if o.code != 0 {
		t.Skipf("no separate disk: %s", o.text)
	}
	clip := clip(t, "clip.mp4", 13)
	r := random(t)
	counts := map[string]int{}
	for at, line := range jobs {
		all := append([]string{built.program}, fields(line, clip, disk+"/out")...)
		o, whole := onDisk(t, disk, 64<<20, all...)
		require.Equal(t, job.ExitDone, o.code, "%s: %s", line, o.text)
		bytes := int64(0)
		for _, size := range whole {
			bytes += size
		}
		for i := at; i < count(t); i += len(jobs) {
			size := 4096 * (4 + r.Int64N(2+bytes/4096)) // 4 pages are for folders
			o, left := onDisk(t, disk, size, all...)
			if o.code == job.ExitDone {
				counts["enough"]++
				require.Equal(t, whole, left, "%s in %d bytes", line, size)
				continue
			}
			require.Equal(t, job.ExitFailed, o.code, "%s in %d bytes: %s", line, size, o.text)
			require.Regexp(t, "disk full|No space left on device|is free there; TMPDIR names another", o.text, line)
			what := "nothing kept"
			for name, bytes := range left {
				what = "whole files kept"
				require.Equal(t, whole[name], bytes, "%s in %d bytes: %s: %s", line, size, name, o.text)
				require.NotEqual(t, ".png", filepath.Ext(name), "a part of the frames")
			}
			counts[what]++
		}
	}
	t.Logf("%d disks of random sizes: %v", count(t), counts)
}

// onDisk runs a command with a disk of this many bytes, and returns the files on it at
// the end, with their sizes. It creates the folders out and temp.
func onDisk(t *testing.T, disk string, size int64, line ...string) (outcome, map[string]int64) {
	t.Helper()
	// The disk disappears with the last process in its namespace.
	script := `mount -t tmpfs -o size=$SIZE tmpfs "$DISK" && mkdir "$DISK/out" "$DISK/temp" && "$@"
code=$?
find "$DISK" -mindepth 2 -printf '%s %P\n' >"$LEFT"
exit $code`
	args := []string{"--mount", "sh", "-c", script, "sh"}
	if os.Geteuid() != 0 {
		args = append([]string{"--user", "--map-root-user"}, args...)
	}
	list := filepath.Join(t.TempDir(), "left")
	cmd := exec.Command("unshare", append(args, line...)...)
	cmd.Env = append(os.Environ(), fmt.Sprint("SIZE=", size), "DISK="+disk, "LEFT="+list, "TMPDIR="+disk+"/temp", mark+"="+disk)
	o := run(t, cmd)
	alone(t, disk, fmt.Sprint(line))
	text, _ := os.ReadFile(list)
	left := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		var size int64
		var name string
		_, err := fmt.Sscan(line, &size, &name)
		require.NoError(t, err, line)
		left[name] = size
	}
	return o, left
}
