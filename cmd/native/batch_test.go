package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/batch"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/gpu"
	"tessera/tiling"
	"tessera/vae"
)

// manyLatents creates small latents with different values, by names in a new folder.
func manyLatents(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, name := range names {
		data := make([]float32, 16*2*3)
		for j := range data {
			data[j] = float32((i*31+j*17)%23)/11 - 1
		}
		writeTensors(t, filepath.Join(dir, name+".safetensors"), nil, tensor{"latent", []int{16, 1, 2, 3}, data})
	}
	return dir
}

// outcomes returns the lines that a batch prints, by clip.
func outcomes(t *testing.T, stdout string) map[string]batch.Outcome {
	t.Helper()
	all := map[string]batch.Outcome{}
	for line := range strings.Lines(stdout) {
		var o batch.Outcome
		require.NoError(t, json.Unmarshal([]byte(line), &o), line)
		all[o.Name] = o
	}
	return all
}

// statuses returns the outcome of each clip.
func statuses(t *testing.T, stdout string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, o := range outcomes(t, stdout) {
		all[name] = o.Status
	}
	return all
}

// manifest writes a manifest of these lines.
func manifest(t *testing.T, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clips.jsonl")
	write(t, path, []byte(strings.Join(lines, "\n")+"\n"))
	return path
}

// A batch of clips, each with its own command, checkpoint and options, makes the bytes of
// single commands.
func TestBatchEqualsSingleRuns(t *testing.T) {
	t.Parallel()
	needDevice(t)
	in, clip := manyLatents(t, "a", "b"), demoClip(t, 5, 24, 40)
	single, many := t.TempDir(), t.TempDir()
	a, b := filepath.Join(in, "a.safetensors"), filepath.Join(in, "b.safetensors")
	for _, args := range [][]string{
		{"decode", "-m", tiny, a, "-o", filepath.Join(single, "a.npy"), "--chunk=2"},
		{"decode", "-m", wan21(t), b, "-o", filepath.Join(single, "b.png"), "--chunk=2", "--tile=24", "--tiling=exact"},
		{"encode", "-m", tiny, clip, "-o", filepath.Join(single, "c.safetensors"), "--chunk=2", "--sample", "--seed=7"},
		{"roundtrip", "-m", tiny, clip, "-o", filepath.Join(single, "d.y4m"), "--chunk=2", "--no-independent-frames"},
	} {
		succeed(t, args...)
	}
	line := func(c clipLine) string {
		text, err := json.Marshal(c)
		require.NoError(t, err)
		return string(text)
	}
	list := manifest(t,
		line(clipLine{Input: a, Output: filepath.Join(many, "a.npy"), Op: "decode"}),
		"",
		line(clipLine{Input: b, Output: filepath.Join(many, "b.png"), Model: wan21(t), Options: map[string]any{"tile": 24, "tiling": "exact"}}),
		line(clipLine{Input: clip, Name: "c", Output: filepath.Join(many, "c.safetensors"), Options: map[string]any{"sample": true, "seed": 7}}),
		line(clipLine{Input: clip, Name: "d", Output: filepath.Join(many, "d.y4m"), Op: "roundtrip", Options: map[string]any{"independent-frames": false}}),
	)
	o := succeed(t, "batch", "-m", tiny, "--manifest", list, "--chunk=2", "--progress=none")
	all := outcomes(t, o.stdout)
	for name, op := range map[string]string{"a": "decode", "b": "decode", "c": "encode", "d": "roundtrip"} {
		assert.Equal(t, batch.Done, all[name].Status)
		require.NotNil(t, all[name].Result, name)
		assert.Equal(t, op, all[name].Result.Command)
	}
	assert.Contains(t, o.stderr, "4 clips: 4 done")
	made := relative(t, many)
	for name := range made {
		if strings.HasSuffix(name, ".done.json") {
			delete(made, name)
		}
	}
	require.Equal(t, len(relative(t, single)), len(made))
	for name, is := range relative(t, single) {
		assert.True(t, made[name] == is, "%s differs", name)
	}
}

// clipLine is a line of a manifest.
type clipLine struct {
	Name    string         `json:"name,omitempty"`
	Input   string         `json:"input"`
	Output  string         `json:"output,omitempty"`
	Op      string         `json:"op,omitempty"`
	Model   string         `json:"model,omitempty"`
	Options map[string]any `json:"options,omitempty"`
}

// A clip has the flags of the command line, except those that it sets.
func TestBatchOptions(t *testing.T) {
	p, err := parseClip(nil, []string{"encode", "--tile=32", "--sample", "--memory", "2GiB", "--sample=false", "--tile=24", "--model=m.pth", "--output=-o.npy", "--", "-i.mp4"})
	require.NoError(t, err)
	c := p.Encode
	require.Equal(t, tiling.Square(24), c.Tile.Tile)
	require.False(t, c.Sample)
	require.Equal(t, int64(2<<30), int64(c.Memory))
	require.Equal(t, []string{"m.pth", "-o.npy", "-i.mp4"}, []string{c.Model, c.Output, c.Video})
}

// A clip reuses the previous one's machine if it needs the same one.
func TestWarm(t *testing.T) {
	needDevice(t)
	said := &terminal.Terminal{Stderr: io.Discard}
	kept := machine.Keep(said)
	defer kept.Drop()
	opener := &machine.Opener{Terminal: said, Kept: kept}
	chosen := flags.Device{Backend: "auto", Precision: "auto", Shortcuts: flags.Shortcuts{Winograd: "on"}}
	open := func(f flags.Device, path string) *gpu.Device {
		e, err := opener.Open(t.Context(), f.Chosen(), path, f.Settings(flags.Forcing{}))
		require.NoError(t, err)
		e.Close() // as commands do
		return e.Device
	}
	first := open(chosen, tiny)
	require.Same(t, first, open(chosen, tiny))
	other := open(chosen, wan21(t))
	require.NotSame(t, first, other)
	chosen.Precision = "f32"
	last := open(chosen, wan21(t))
	require.NotSame(t, other, last)
	kept.Drop()
	require.NotSame(t, last, open(chosen, wan21(t)))
	_, err := opener.Open(t.Context(), chosen.Chosen(), "nowhere", vae.Settings{})
	require.Error(t, err)
}

// --resume skips a clip only if its input, checkpoint and options are those that made the
// existing output.
func TestBatchResume(t *testing.T) {
	t.Parallel()
	needDevice(t)
	in, out := manyLatents(t, "a", "b", "c"), t.TempDir()
	path := func(name string) string { return filepath.Join(in, name+".safetensors") }
	out = filepath.Join(out, "a", "folder") // the batch creates the folder
	args := []string{"batch", "-m", tiny, filepath.Join(in, "*.safetensors"), "-o", filepath.Join(out, "{name}.npy"), "--op=decode", "--resume", "-q"}
	again := func(want string, args ...string) {
		t.Helper()
		got := statuses(t, succeed(t, args...).stdout)
		text := ""
		for _, name := range []string{"a", "b", "c"} {
			text += " " + got[name]
		}
		assert.Equal(t, want, text[1:])
	}
	again("done done done", args...)
	again("skipped skipped skipped", args...)

	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(path("a"), later, later)) // with equal contents
	data, err := os.ReadFile(path("b"))
	require.NoError(t, err)
	data[len(data)-1] ^= 1
	write(t, path("b"), data)
	require.NoError(t, os.Truncate(filepath.Join(out, "c.npy"), 100))
	again("skipped done done", args...)
	require.NoError(t, os.Remove(filepath.Join(out, "b.npy")))
	again("skipped done skipped", args...)
	again("done done done", append(args, "--chunk=2")...)
	args[2] = rebuilt(t, func(x tensor) *tensor { x.data[0] += 0.5; return &x })
	again("done done done", args...)
	again("skipped skipped skipped", args...)

	// A pattern that matches records does not make them clips.
	require.Len(t, outcomes(t, succeed(t, "batch", "-m", tiny, filepath.Join(out, "a*"), "-o", filepath.Join(t.TempDir(), "{name}.latent"), "--op=encode", "-q").stdout), 1)

	// An invalid record does not skip a clip, and without --resume no record does.
	write(t, filepath.Join(out, "a.npy.done.json"), []byte("{"))
	again("done skipped skipped", args...)
	again("done done done", append(args[:len(args)-2:len(args)-2], "-q")...)
	records := filepath.Join(t.TempDir(), "records")
	again("done done done", append(args, "--records", records)...)
	assert.FileExists(t, filepath.Join(records, "a.done.json"))
	again("skipped skipped skipped", append(args, "--records", records)...)
}

// A failed clip does not stop the others; each has its exit code, and the batch has that
// of the failure that another try may cure.
func TestBatchGoesOn(t *testing.T) {
	t.Parallel()
	needDevice(t)
	in, out := manyLatents(t, "a", "z"), t.TempDir()
	lines := []string{
		fmt.Sprintf(`{"name": "missing", "input": %q, "output": %q}`, filepath.Join(in, "none.safetensors"), filepath.Join(out, "b.npy")),
		fmt.Sprintf(`{"input": %q, "output": %q, "op": "decode", "options": {"memory": "1MiB"}, "name": "large"}`, filepath.Join(in, "a.safetensors"), filepath.Join(out, "c.npy")),
		fmt.Sprintf(`{"input": %q, "output": %q, "op": "decode"}`, filepath.Join(in, "z.safetensors"), filepath.Join(out, "z.npy")),
		fmt.Sprintf(`{"name": "nowhere", "input": %q, "output": %q, "op": "decode"}`, filepath.Join(in, "a.safetensors"), filepath.Join(out, "folder.npy")),
		fmt.Sprintf(`{"name": "below", "input": %q, "output": %q, "op": "decode"}`, filepath.Join(in, "a.safetensors"), filepath.Join(in, "z.safetensors", "b.npy")),
		fmt.Sprintf(`{"name": "without", "input": %q, "output": %q, "op": "decode"}`, filepath.Join(in, "a.safetensors"), filepath.Join(out, "b.mp4")),
	}
	require.NoError(t, os.Mkdir(filepath.Join(out, "folder.npy"), 0o777))
	write(t, filepath.Join(out, "folder.npy", "precious.txt"), nil)
	for i := range lines[:2] {
		lines[i] = strings.Replace(lines[i], "}", `, "op": "decode"}`, 1-i)
	}
	for _, c := range []struct {
		lines []string
		code  int
	}{{lines, job.ExitFailed}, {lines[:5], job.ExitMemory}, {[]string{lines[0], lines[2], lines[3]}, job.ExitInput}, {lines[2:5], job.ExitUsage}} {
		o := tesseraEnv(t, []string{"PATH=" + out}, "batch", "-m", tiny, "--manifest", manifest(t, c.lines...), "-q") // without ffmpeg
		require.Equal(t, c.code, o.code, o.stderr)
		all := outcomes(t, o.stdout)
		require.Len(t, all, len(c.lines))
		assert.Equal(t, batch.Done, all["z"].Status)
		if c.code != job.ExitUsage {
			assert.Contains(t, o.stderr, "[1/"+fmt.Sprint(len(c.lines))+" missing] ")
		}
		for name, code := range map[string]int{"missing": job.ExitInput, "large": job.ExitMemory, "nowhere": job.ExitUsage, "below": job.ExitUsage, "without": job.ExitFailed} {
			if o, ok := all[name]; ok {
				assert.Equal(t, code, o.Code, name)
				assert.Equal(t, batch.Failed, o.Status)
				assert.NotEmpty(t, o.Error)
			}
		}
	}
	// Without a device no clip runs after the first, and the output for schedulers is one
	// line each.
	o := tessera(t, "batch", "-m", tiny, filepath.Join(in, "*.safetensors"), "-o", filepath.Join(out, "{name}.png"), "--json", "--adapter=99")
	assert.Equal(t, job.ExitDevice, o.code)
	assert.Equal(t, 2, strings.Count(o.stdout, "\n"), o.stdout)
	assert.Contains(t, o.stdout, `"exit_code":4`)
}

// Impossible clips are refused before the first one runs, with their line.
func TestBatchRefuses(t *testing.T) {
	in := manyLatents(t, "a", "b")
	a, b := filepath.Join(in, "a.safetensors"), filepath.Join(in, "b.safetensors")
	line := func(text string) string {
		return manifest(t, `{"input": "`+filepath.ToSlash(a)+`", "output": "OUT.png"}`, text)
	}
	var all []refusal
	for name, c := range map[string]struct{ args, want string }{
		"nothing":           {"", "no inputs, expected files, patterns, URLs or --manifest"},
		"both":              {a + " --manifest=x", "inputs and --manifest: expected one of the two"},
		"no output":         {a, "missing flags: --output=OUT"},
		"one output":        {a + " " + b + " -o OUT.png", "expected different outputs; {name} is replaced by the input's name"},
		"no such files":     {in + "/x*.npy -o OUT/{name}.png", "no such file"},
		"several meanings":  {a + " -o OUT.npy", "ambiguous, expected --op=decode, --op=encode or --op=roundtrip"},
		"videos":            {"a.mp4 -o OUT.mp4", "ambiguous"},
		"a cache's URL":     {"a.mp4 -o http://host/x.safetensors --cache=musubi", "the cache chooses its file name"},
		"no such format":    {a + " -o OUT.xyz", `"OUT.xyz"`},
		"standard output":   {a + " -o -", `output "-"`},
		"another's flag":    {a + " -o OUT.png --accept-damaged", "unknown flag --accept-damaged"},
		"a shard":           {a + " -o OUT.png --shard=3/3", `"3/3", expected a part and the number of parts`},
		"no manifest":       {"--manifest=OUT.jsonl", "--manifest: "},
		"no JSON":           {"--manifest=" + line("{"), "clips.jsonl:2: unexpected EOF"},
		"another key":       {"--manifest=" + line(`{"inputs": "x"}`), `clips.jsonl:2: unknown field "inputs"`},
		"two objects":       {"--manifest=" + line(`{"input": "x"} {}`), "clips.jsonl:2: unexpected data after the object"},
		"no input":          {"--manifest=" + line(`{"output": "x"}`), `clips.jsonl:2: input ""`},
		"no output of one":  {"--manifest=" + line(`{"input": "x"}`), `clips.jsonl:2: output "" of x`},
		"the same output":   {"--manifest=" + line(`{"input": "x.npz", "output": "OUT.png"}`), "clips.jsonl:2: --output=OUT.png: used for "},
		"a name":            {"--manifest=" + line(`{"input": "x.npz", "output": "x.png", "name": "../x"}`), `clips.jsonl:2: name "../x": expected one without / and \`},
		"an op":             {"--manifest=" + line(`{"input": "x.npz", "output": "x.png", "op": "info"}`), `clips.jsonl:2: op "info"`},
		"an option":         {"--manifest=" + line(`{"input": "x.npz", "output": "x.png", "options": {"tiles": 3}}`), "clips.jsonl:2: x.npz: unknown flag --tiles"},
		"an option's value": {"--manifest=" + line(`{"input": "x.npz", "output": "x.png", "options": {"chunk": 0}}`), "clips.jsonl:2: x.npz: --chunk: \"0\", expected auto or a number of latent frames, at least 1"},
		"a list":            {"--manifest=" + line(`{"input": "x.npz", "output": "x.png", "options": {"tile": [3]}}`), `clips.jsonl:2: option "tile": expected a string, a number, true or false`},
		"the model inside":  {"--manifest=" + line(`{"input": "x.npz", "output": "x.png", "options": {"model": "m"}}`), `clips.jsonl:2: option "model": belongs beside options, not in them`},
		"a URL's sheet":     {"a.mp4 --op=roundtrip -o http://host/x.mp4", "writes a sheet beside its output"},
		"a URL of frames":   {a + " -o http://host/x", "has no file extension"},
		"a URL's record":    {a + " -o http://host/x.png --resume", "expected --records=FOLDER for --resume"},
		"a URL kept":        {a + " -o http://host/x.png --no-clobber", "cannot check whether it exists"},
		"no URL":            {"http:///x.npz -o OUT.png", "not the URL of a file"},
	} {
		all = append(all, refusal{name: name, args: "batch -m " + tiny + " " + c.args, code: job.ExitUsage, want: c.want, env: noDevice})
	}
	for i := range all {
		all[i].want = strings.ReplaceAll(all[i].want, `"OUT.xyz"`, ".xyz")
	}
	refuse(t, all)
}

// A stream's clips run as they arrive, in a program that keeps its machine, and an
// invalid line does not end it.
func TestBatchFollows(t *testing.T) {
	needDevice(t)
	in, out := manyLatents(t, "a", "b"), t.TempDir()
	cmd := exec.Command(built.program, "batch", "-m", tiny, "--manifest=-", "-o", filepath.Join(out, "{name}.png"), "-q")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer cmd.Process.Kill()
	lines := bufio.NewReader(stdout)
	ask := func(line string) (o batch.Outcome) {
		_, err := fmt.Fprintln(stdin, line)
		require.NoError(t, err)
		text, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(text), &o), text)
		return o
	}
	for _, name := range []string{"a", "b", "a"} {
		o := ask(fmt.Sprintf(`{"input": %q}`, filepath.Join(in, name+".safetensors")))
		assert.Equal(t, batch.Done, o.Status, o.Error)
		assert.FileExists(t, filepath.Join(out, name+".png"))
	}
	o := ask("{]")
	assert.Equal(t, job.ExitUsage, o.Code)
	assert.Contains(t, o.Error, "standard input:4: invalid character")
	require.NoError(t, stdin.Close())
	cmd.Wait()
	assert.Equal(t, job.ExitUsage, cmd.ProcessState.ExitCode())
}
