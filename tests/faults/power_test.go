//go:build linux

package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/tests/testenv"
)

// card is an ext4 file system in a file. Data that programs have written but not
// flushed is in the machine's memory, not in that file: a copy of the file is the disk
// after a power loss.
type card struct{ image, dir string }

// newCard creates and mounts one, with a journal that is not written on a timer.
func newCard(t *testing.T) card {
	t.Helper()
	c := card{filepath.Join(t.TempDir(), "image"), t.TempDir()}
	f, err := os.Create(c.image)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(64<<20))
	require.NoError(t, f.Close())
	out, err := exec.Command("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", c.image).CombinedOutput()
	if err != nil {
		t.Skipf("no separate disk: %v: %s", err, out)
	}
	c.mount(t)
	return c
}

func (c card) mount(t *testing.T) {
	t.Helper()
	out, err := exec.Command("mount", "-o", "loop,commit=3600", c.image, c.dir).CombinedOutput()
	if err != nil {
		t.Skipf("no separate disk: %v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", c.dir).Run() })
}

// afterLoss returns the disk as it is if the power fails now.
func (c card) afterLoss(t *testing.T) card {
	t.Helper()
	lost := card{filepath.Join(t.TempDir(), "image"), t.TempDir()}
	out, err := exec.Command("cp", "--sparse=always", c.image, lost.image).CombinedOutput()
	require.NoError(t, err, "%s", out)
	lost.mount(t)
	return lost
}

// The output of a successful command is on the disk, complete, in place of the old one.
// If the power fails while the command runs, either the old or the new one is there.
func TestPowerLoss(t *testing.T) {
	needs(t, true)
	disk := newCard(t)
	clip := clip(t, "clip.mp4", 13)
	r := random(t)
	counts := map[string]int{}
	lines := append(slices.Clone(jobs), "decode LATENT -o OUT/out.npy --resume", "batch LATENT -o OUT/out.mp4 --resume")
	for at, line := range lines {
		out := filepath.Join(disk.dir, "out")
		require.NoError(t, os.RemoveAll(out))
		require.NoError(t, os.Mkdir(out, 0o777))
		args := fields(line, clip, out)
		temp := t.TempDir()
		start := time.Now()
		o := run(t, command(temp, args...))
		took := time.Since(start)
		require.Equal(t, job.ExitDone, o.code, "%s: %s", line, o.text)
		whole := tree(t, out)
		same := func(t *testing.T, left map[string]string) {
			t.Helper()
			maps.DeleteFunc(left, func(name, _ string) bool { return strings.Contains(name, ".unfinished") }) // it may still have to remove these
			require.Equal(t, slices.Sorted(maps.Keys(whole)), slices.Sorted(maps.Keys(left)), line)
			for name, data := range whole {
				if !strings.HasSuffix(name, ".done.json") { // it contains a time
					require.True(t, data == left[name], "%s: %s has %d bytes, expected %d", line, name, len(left[name]), len(data))
				}
			}
		}
		same(t, tree(t, filepath.Join(disk.afterLoss(t).dir, "out")))
		for i := at; i < count(t); i += len(lines) {
			moment := time.Duration(r.Float64() * float64(took))
			for name := range whole { // a batch would consider its work done
				if strings.HasSuffix(name, ".done.json") {
					require.NoError(t, os.RemoveAll(filepath.Join(out, name)))
				}
			}
			syscall.Sync()
			cmd := command(temp, args...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			var lost card
			o := run(t, cmd, func() {
				time.Sleep(moment)
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGSTOP) // so that the copy is consistent
				lost = disk.afterLoss(t)
				_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			})
			alone(t, temp, line) // ffmpeg, in a separate group, may still create a file
			counts[fmt.Sprint("code ", o.code)]++
			o = run(t, command(temp, "decode", "-m", "nowhere", built.latent, "-o", filepath.Join(lost.dir, "out", "next.npy"))) // it puts back files that were moved aside
			require.Equal(t, job.ExitInput, o.code, o.text)
			for name, data := range tree(t, filepath.Join(lost.dir, "out")) {
				if want, ok := whole[name]; ok && !strings.HasSuffix(name, ".done.json") {
					require.True(t, data == want, "%s, after %v: %s has %d bytes, expected %d", line, moment, name, len(data), len(want))
				}
			}
			for name := range whole {
				if !strings.HasSuffix(name, ".done.json") {
					require.Contains(t, tree(t, filepath.Join(lost.dir, "out")), name, "%s, after %v", line, moment)
				}
			}
			if strings.Contains(line, "--resume") {
				o = run(t, command(temp, strings.Split(strings.ReplaceAll(strings.Join(args, "\x00"), disk.dir, lost.dir), "\x00")...))
				require.Equal(t, job.ExitDone, o.code, "%s, after %v: %s", line, moment, o.text)
				same(t, tree(t, filepath.Join(lost.dir, "out")))
			}
		}
	}
	t.Logf("%d losses of power: %v", count(t), counts)
}

// A job that a server reported as done survives a power loss.
func TestPowerLossOfServer(t *testing.T) {
	needs(t, false)
	testenv.Watch()
	disk := newCard(t)
	server := serve(t, "--jobs", filepath.Join(disk.dir, "jobs"))
	url := server.url
	latent, err := os.ReadFile(built.latent)
	require.NoError(t, err)
	answer, err := http.Post(url+"/v1/jobs?input=safetensors&output=u8", "application/octet-stream", bytes.NewReader(latent))
	require.NoError(t, err)
	type state struct {
		ID, State, Error string
		Bytes            int
	}
	var s state
	require.NoError(t, json.NewDecoder(answer.Body).Decode(&s))
	answer.Body.Close()
	require.Equal(t, http.StatusCreated, answer.StatusCode, s.Error)
	require.Eventually(t, func() bool {
		text, _ := get(t, url+"/v1/jobs/"+s.ID)
		require.NoError(t, json.Unmarshal(text, &s))
		return s.State == "done"
	}, time.Minute, time.Millisecond, "%+v", s)
	want, _ := get(t, url+"/v1/jobs/"+s.ID+"/content")
	require.Len(t, want, s.Bytes)
	lost := disk.afterLoss(t)
	server.stop()
	url = serve(t, "--jobs", filepath.Join(lost.dir, "jobs")).url
	got, status := get(t, url+"/v1/jobs/"+s.ID+"/content")
	require.Equal(t, http.StatusOK, status, "%s", got)
	require.True(t, string(want) == string(got), "%d bytes, expected %d", len(got), len(want))
}

func get(t *testing.T, url string) (body []byte, status int) {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close()
	body, err = io.ReadAll(r.Body)
	require.NoError(t, err)
	return body, r.StatusCode
}
