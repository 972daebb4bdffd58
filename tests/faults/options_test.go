//go:build linux

package faults

import (
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/media"
)

// flag is a flag of the program, from its completion.
type flag struct {
	name  string
	words []string // possible values
	value bool     // it takes a value
	file  bool     // the value names a file
}

// flagsOf returns the flags of each command, from the program's own list.
func flagsOf(t *testing.T) map[string][]flag {
	t.Helper()
	o := run(t, command(t.TempDir(), "completion", "fish"))
	require.Equal(t, job.ExitDone, o.code, o.text)
	line := regexp.MustCompile(`^complete -c tessera -n '__fish_seen_subcommand_from ([a-z]+)' -l ([a-z-]+)(?: -s .)?( -r -F)?( -x(?: -a '([^']*)')?)?`)
	all := map[string][]flag{}
	for text := range strings.Lines(o.stdout) {
		if m := line.FindStringSubmatch(text); m != nil {
			all[m[1]] = append(all[m[1]], flag{m[2], strings.Fields(m[5]), m[3]+m[4] != "", m[3] != ""})
		}
	}
	return all
}

// lines are the command lines to which options are added; CLIP, FRAMES and LATENT are
// inputs, and outputs go below the working folder. A line that occurs more often is
// tried more often.
var lines = []string{
	"decode LATENT -m MODEL -o out.npy", "decode LATENT -m MODEL -o out.mp4", "decode LATENT -m MODEL -o frames", "decode LATENT -m MODEL -o -",
	"encode FRAMES -m MODEL -o out.safetensors", "encode CLIP -m MODEL -o out.latent", "encode FRAMES -m MODEL -o out.npy",
	"roundtrip FRAMES -m MODEL -o out.y4m", "roundtrip CLIP -m MODEL -o out.mkv",
	"batch LATENT -m MODEL -o {name}.npy", "batch LATENT CLIP -m MODEL -o made/{name}.safetensors",
	"info MODEL", "info LATENT", "plan -m seedvr2", "plan -m MODEL --frames 9 --size 64x64", "devices", "demo -m MODEL -o demo",
	"serve -m MODEL --listen 127.0.0.1:0 --page PAGE --jobs jobs", "bench ops", "completion bash", "man",
}

// rightly are valid values of these flags.
var rightly = map[string][]string{
	"tile": {"off", "auto", "32", "16x48"}, "overlap": {"8", "4x8"}, "memory": {"1MiB", "64MiB", "6GiB"}, "host-memory": {"1MiB", "2GiB"}, "chunk": {"1", "3", "auto"},
	"fps": {"25", "30000/1001", "0.5"}, "seed": {"0", "18446744073709551615"}, "crf": {"0", "30"}, "codec": {"libx264", "libx265", "ffv1"}, "pix-fmt": {"yuv420p", "yuv444p10le", "gbrp"},
	"layout": {"CFHW", "BCFHW", "FCHW"}, "size": {"64x64", "1328x1328"}, "format": {"y4m", "npy", "safetensors"}, "latent-key": {"latent", "nothing"}, "track": {"1", "2"},
	"adapter": {"0", "best", "all", "0,0"}, "audio": {"CLIP"}, "profile": {"", "trace.json"}, "records": {"records"}, "shard": {"0/1", "1/2"}, "report": {"report.md", "report.json"},
	"seconds": {"1"}, "frames": {"1", "21"}, "queue": {"1", "512"}, "keep": {"1s", "24h"}, "disk": {"1MiB", "10GiB"}, "cache": {"musubi"}, "latent-name": {"{name}_x"},
	"listen": {"127.0.0.1:0", "localhost:0", "[::1]:0"}, "folder": {"."}, "token-file": {"TOKENS"}, "layers": {"", "all"}, "choices": {"conv3d=fours"},
}

// oddly are values at and beyond the limits of flags.
var oddly = []string{
	"", "0", "1", "-1", "2", "8", "16", "255", "256", "4096", "65536", "2147483647", "2147483648", "9223372036854775807", "18446744073709551616", "1e9", "1e400",
	"NaN", "inf", "-inf", "-0", "0x10", "1.5", "1/0", "0/1", "-1/2", "9/3", "16x16", "0x0", "1x99999999", "x", "auto", "off", "on", "all", "best", "none", "default", "true",
	"1GiB", "0B", "1YiB", "-5MiB", "1us", "-1h", "-", "--", "---", "=", "%d", "%s%n", "frame_%04d.png", "{name}", "{nothing}", "{", "..", ".", "../x.npy", "x/y/z.npy",
	"MODEL", "LATENT", "CLIP", "FRAMES", "TOKENS", "x.npy", "x.mp4", "x.png", "x.json", "x.safetensors", "x.xyz", "ş.npy", "\xff\xfe.npy", "a\nb.npy", "\x1b[31mx.npy", "$(x)", "x y.npy",
	"conv3d=nothing", "libx264", "copy", "yuv420p", "CHW", "BMFHW", "HHHH", "0,1,2,3", strings.Repeat("x", 300) + ".npy", strings.Repeat("9", 5000),
}

// never are flags that would start another program of the machine.
var never = []string{"open"}

// option returns a flag of a command with a value.
func option(r *rand.Rand, f flag) []string {
	if !f.value && r.IntN(10) > 0 {
		if values := rightly[f.name]; len(values) > 0 { // the value is optional
			if v := values[r.IntN(len(values))]; v != "" {
				return []string{"--" + f.name + "=" + v}
			}
		}
		return []string{"--" + f.name}
	}
	values := append(slices.Clone(f.words), rightly[f.name]...)
	if len(values) == 0 || r.IntN(2) == 0 {
		if values = oddly; f.name == "listen" { // no address that other machines can reach
			values = []string{"", "x", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:-1", ":", "256.0.0.1:0"}
		}
	}
	v := values[r.IntN(len(values))]
	if r.IntN(3) == 0 {
		return []string{"--" + f.name, v}
	}
	return []string{"--" + f.name + "=" + v}
}

// Any combination of options ends with one of the documented exit codes and an error
// message, and leaves a complete output or none, and no other files.
func TestOptions(t *testing.T) {
	needs(t, true)
	flags := flagsOf(t)
	inputs, clip := t.TempDir(), clip(t, "clip.mkv", 3)
	frames, tokens := filepath.Join(inputs, "frames"), filepath.Join(inputs, "tokens.txt")
	require.NoError(t, os.WriteFile(tokens, []byte("me 0123456789abcdef\n"), 0o666))
	sink, err := media.Create(t.Context(), frames, media.Format{Frames: 2, Height: 16, Width: 24, Channels: 3})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, sink.WriteFrame(make([]float32, 16*24*3)))
	}
	require.NoError(t, sink.Close())
	names := strings.NewReplacer("CLIP", clip, "FRAMES", frames, "LATENT", built.latent, "MODEL", built.model, "PAGE", built.page, "TOKENS", tokens)
	given := []string{inputs, filepath.Dir(clip), filepath.Dir(built.model)}
	before := trees(t, given)

	r := random(t)
	counts := map[string]int{}
	for i := range 4 * count(t) {
		line := lines[r.IntN(len(lines))]
		args := strings.Fields(line)
		all := flags[args[0]]
		require.NotEmpty(t, all, args[0])
		for range r.IntN(5) {
			if f := all[r.IntN(len(all))]; !slices.Contains(never, f.name) {
				at := 1 + r.IntN(len(args))
				if at < len(args) && strings.HasPrefix(args[at-1], "-") && args[at-1] != "-" {
					at++ // after a flag's value
				}
				args = slices.Insert(args, at, option(r, f)...)
			}
		}
		if r.IntN(10) == 0 { // drop an argument
			at := 1 + r.IntN(max(1, len(args)-1))
			args = slices.Delete(args, at, min(at+1, len(args)))
		}
		for i := range args {
			args[i] = names.Replace(args[i])
		}
		place := newPlace(t)
		o := place.run(t, args, 5*time.Second)
		what := strings.Join(args, " ")
		if len(what) > 2000 {
			what = what[:2000]
		}
		counts[kindOf[o.code]]++
		place.check(t, args, o, what)
		require.True(t, maps.Equal(before, trees(t, given)), "its inputs are others: %s", what)
		if t.Failed() {
			t.Fatalf("run %d: %q: code %d\n%s\n%.2000s", i, args, o.code, o.text, o.stdout)
		}
	}
	t.Logf("%d lines of random options: %v", 4*count(t), counts)
}

// kindOf maps the exit codes in --help-all to their names.
var kindOf = map[int]string{
	job.ExitDone: "done", job.ExitFailed: "failed", job.ExitUsage: "usage", job.ExitInput: "input", job.ExitDevice: "device", job.ExitMemory: "memory", job.ExitInterrupted: "interrupted",
}

// trees returns the files of several folders.
func trees(t *testing.T, dirs []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range dirs {
		for name, data := range tree(t, dir) {
			all[filepath.Join(dir, name)] = data
		}
	}
	return all
}

// place is where a command runs.
type place struct{ top, work, temp string }

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{top: t.TempDir(), temp: t.TempDir()}
	p.work = filepath.Join(p.top, "a", "work") // its path contains the names of the parent folders
	require.NoError(t, os.MkdirAll(p.work, 0o777))
	return p
}

// run runs a command in the place, and interrupts it if it takes long, like a server.
func (p place) run(t *testing.T, args []string, patience time.Duration) outcome {
	t.Helper()
	cmd := command(p.temp, args...)
	cmd.Dir = p.work
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+p.temp+"-config")
	if args[0] == "serve" {
		patience = time.Second
	}
	return run(t, cmd, func() {
		go func(p *exec.Cmd) {
			time.Sleep(patience)
			_ = p.Process.Signal(syscall.SIGINT) // it may have ended
			time.Sleep(time.Minute)
			_ = p.Process.Kill() // a kill fails the test
		}(cmd)
	})
}

// check checks what every command promises.
func (p place) check(t *testing.T, args []string, o outcome, what string) {
	t.Helper()
	assert.Contains(t, kindOf, o.code, what)
	assert.NotRegexp(t, crash, o.text, what)
	has := func(names ...string) bool {
		return slices.ContainsFunc(args, func(arg string) bool {
			name, _, _ := strings.Cut(arg, "=")
			return slices.Contains(names, name)
		})
	}
	if o.code != job.ExitDone {
		assert.NotEmpty(t, strings.TrimSpace(o.text+o.stdout), "no message about it: %s", what)
	}
	if slices.Contains(args, "--json") && !has("--help", "--help-all", "-h", "--version", "help") {
		d := json.NewDecoder(strings.NewReader(o.stdout))
		var err error
		for n := 0; err == nil; n++ {
			var v any
			err = d.Decode(&v)
		}
		assert.Equal(t, io.EOF, err, "standard output is no JSON: %s: %.200s", what, o.stdout)
	}
	alone(t, p.temp, what)
	assert.Empty(t, tree(t, p.temp), "temporary files: %s", what)
	for name, data := range tree(t, p.top) {
		name = strings.TrimPrefix(name, "a/work/")
		assert.NotRegexp(t, `\.tmp-`, name, what)
		assert.True(t, data != "" || filepath.Base(name) == "lock" || strings.HasSuffix(name, ".unfinished"), "%s is empty: %s", name, what)
		if o.code == job.ExitDone || name == "a" || name == "a/work" || has("--resume") && strings.Contains(name, ".unfinished") {
			continue
		}
		switch args[0] {
		case "batch": // finished clips, and records
			continue
		case "serve", "bench": // jobs, and measurements
			continue
		}
		assert.Fail(t, "something is left", "%s of a command that ended with %d: %s", name, o.code, what)
	}
}
