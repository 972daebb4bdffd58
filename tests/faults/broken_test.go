//go:build linux

package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// A video with changed bytes at random places, or cut at one, is refused as bad input,
// or read with all its frames. (.avi is not included: it gets a warning.)
func TestBrokenVideo(t *testing.T) {
	needs(t, true)
	const frames = 9
	for _, kind := range []struct {
		name string
		more []string
	}{
		{"mp4", []string{"-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "4"}},
		{"mkv", []string{"-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "4"}},
		{"webm", []string{"-c:v", "libvpx", "-g", "4"}},
		{"gif", nil},
		{"ts", []string{"-c:v", "mpeg2video", "-g", "4"}},
	} {
		t.Run(kind.name, func(t *testing.T) {
			whole, err := os.ReadFile(clip(t, "clip."+kind.name, frames, kind.more...))
			require.NoError(t, err)
			r := random(t)
			dir, temp := t.TempDir(), t.TempDir()
			in, out := filepath.Join(dir, "in."+kind.name), filepath.Join(dir, "out", "z.safetensors")
			require.NoError(t, os.Mkdir(filepath.Dir(out), 0o777))
			counts := map[string]int{}
			for i := range count(t) {
				data, how := broken(whole, r, i)
				require.NoError(t, os.WriteFile(in, data, 0o666))
				o := run(t, command(temp, "encode", in, "-m", built.model, "-o", out, "--json"))
				switch o.code {
				case job.ExitInput:
					counts["refused"]++
				case job.ExitDone:
					counts["read"]++
					var said struct {
						Frames   int      `json:"frames"`
						Warnings []string `json:"warnings"`
					}
					require.NoError(t, json.Unmarshal([]byte(o.stdout), &said), o.stdout)
					assert.Equal(t, frames, said.Frames, "%s: %v", how, said.Warnings)
					require.NoError(t, os.Remove(out))
				default:
					assert.Fail(t, "exit code", "%d: %s: %s%s", o.code, how, o.text, o.stdout)
				}
				alone(t, temp, how)
				assert.Empty(t, tree(t, temp), how)
				assert.Empty(t, tree(t, filepath.Dir(out)), how)
				if t.Failed() && os.Getenv("KEEP") != "" {
					require.NoError(t, os.WriteFile(os.Getenv("KEEP"), data, 0o666))
					t.FailNow()
				}
			}
			t.Logf("%s: %d with random bytes: %v", kind.name, count(t), counts)
		})
	}
}

// broken returns damaged data and the kind of damage: in turn a byte, eight bytes, a
// run of zeros, a cut.
func broken(whole []byte, r interface{ IntN(int) int }, turn int) ([]byte, string) {
	data := append([]byte(nil), whole...)
	at := r.IntN(len(data))
	switch turn % 4 {
	case 0:
		data[at] ^= byte(1 + r.IntN(255))
		return data, fmt.Sprintf("byte %d of %d", at, len(data))
	case 1:
		for range 8 {
			data[r.IntN(len(data))] ^= byte(1 + r.IntN(255))
		}
		return data, "8 bytes"
	case 2:
		n := min(1+r.IntN(64), len(data)-at)
		clear(data[at : at+n])
		return data, fmt.Sprintf("%d zeros at %d of %d", n, at, len(data))
	}
	if at%188 == 0 {
		at++ // at the end of a .ts packet there is no sign that more followed
	}
	return data[:at], fmt.Sprintf("cut at %d of %d", at, len(data))
}
