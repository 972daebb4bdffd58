package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// workplace creates a folder, makes it the current one, and puts a checkpoint, a latent,
// a picture and a folder of frames into it, with other names for them.
func workplace(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	copied := func(from, to string) {
		b, err := os.ReadFile(from)
		require.NoError(t, err)
		write(t, filepath.Join(dir, to), b)
	}
	copied(tiny, "m.safetensors")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "kept"), 0o777))
	copied(tiny, filepath.Join("kept", "latent.safetensors"))
	copied(latentFile(t, 16, 1, 2, 2), "z.safetensors")
	clip := demoClip(t, 2, 16, 16)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "frames", "inner"), 0o777))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "above", "frames"), 0o777))
	for _, name := range []string{"frame_0000.png", "frame_0001.png"} {
		copied(filepath.Join(clip, name), filepath.Join("frames", name))
		copied(filepath.Join(clip, name), filepath.Join("above", "frames", name))
	}
	copied(filepath.Join(clip, "frame_0000.png"), "p-sheet.png")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "one"), 0o777))
	copied(filepath.Join(clip, "frame_0000.png"), filepath.Join("one", "frame_0000.png"))
	require.NoError(t, os.Link(filepath.Join(dir, "m.safetensors"), filepath.Join(dir, "hard.safetensors")))
	t.Chdir(dir)
	return dir
}

// linked makes a symbolic link, if that is possible: Windows may refuse, and Wine makes
// none without an error.
func linked(to, name string) bool {
	if os.Symlink(to, name) != nil {
		return false
	}
	_, err := os.Readlink(name)
	return err == nil
}

// tree returns the contents of all files below a folder, and the targets of links.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir():
			all[path] = "folder"
		case e.Type()&fs.ModeSymlink != 0:
			all[path], err = os.Readlink(path)
		default:
			var b []byte
			b, err = os.ReadFile(path)
			all[path] = string(b)
		}
		return err
	}))
	return all
}

// unwritable runs command lines that must fail with the given code and one line, and
// change no file. The expected text follows " # ".
func unwritable(t *testing.T, dir string, code int, lines ...string) {
	t.Helper()
	before := tree(t, dir)
	for _, line := range lines {
		line = filepath.FromSlash(strings.ReplaceAll(line, "DIR", filepath.ToSlash(dir)))
		command, want, _ := strings.Cut(line, " # ")
		args := strings.Fields(command)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], `""`, "")
		}
		o := tessera(t, args...)
		assert.Equal(t, code, o.code, "%s: %s", command, o.stderr)
		assert.Contains(t, o.stderr, want, command)
		assert.Equal(t, 1, strings.Count(o.stderr, "\n"), "%s: lines of %s", command, o.stderr)
		assert.Empty(t, o.stdout, command)
		require.Equal(t, before, tree(t, dir), "%s changed files", command)
	}
}

// Outputs never replace inputs, under any name.
func TestRefuseInputAsOutput(t *testing.T) {
	dir := workplace(t)
	unwritable(t, dir, job.ExitUsage,
		"encode -m m.safetensors frames -o m.safetensors # --output=m.safetensors is the checkpoint m.safetensors",
		"encode -m m.safetensors frames -o frames/../m.safetensors # is the checkpoint m.safetensors",
		"encode -m DIR/m.safetensors frames -o m.safetensors # is the checkpoint DIR/m.safetensors",
		"encode -m m.safetensors frames -o hard.safetensors # --output=hard.safetensors is the checkpoint m.safetensors",
		"encode -m m.safetensors z.safetensors -o z.safetensors # is the input z.safetensors",
		"decode -m m.safetensors z.safetensors -o DIR/z.safetensors # is the input z.safetensors",
		"decode -m m.safetensors z.safetensors -o DIR # is the current folder",
		"decode -m m.safetensors z.safetensors -o m.safetensors # is the checkpoint",
		"decode -m m.safetensors z.safetensors -o x.npy --dawn x.npy # is the library x.npy",
		"roundtrip -m m.safetensors frames -o frames # --output=frames is the input frames",
		"roundtrip -m m.safetensors frames/ -o frames/inner/.. # is the input frames",
		"roundtrip -m m.safetensors above/frames -o above # --output=above holds the input above/frames",
		"roundtrip -m m.safetensors one/frame_0000.png -o one # --output=one holds the input one/frame_0000.png",
		"roundtrip -m m.safetensors frames -o frames/new # --output=frames/new lies in the input frames",
		"roundtrip -m m.safetensors frames -o frames/inner/new # lies in the input frames",
		"roundtrip -m m.safetensors frames -o frames/new.png # lies in the input frames",
		"roundtrip -m m.safetensors frames -o frames/new.npy # its sheet frames/new-sheet.png lies in the input frames",
		"roundtrip -m m.safetensors p-sheet.png -o p.npy # --output=p.npy: its sheet p-sheet.png is the input p-sheet.png",
		"demo -m kept/latent.safetensors -o kept # --output=kept: kept/latent.safetensors is the checkpoint kept/latent.safetensors",
	)
}

func TestRefuseLinkedInputAsOutput(t *testing.T) {
	dir := workplace(t)
	in := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.Mkdir(in("results"), 0o777))
	require.NoError(t, os.Mkdir(in("linking"), 0o777))
	write(t, in("results/frame_0000.png"), []byte("mine"))
	for name, to := range map[string]string{
		"soft.safetensors": "m.safetensors", "again.safetensors": "soft.safetensors", "same": "frames", "far": filepath.Join("above", "frames"),
		"linking/a.png": filepath.Join("..", "results", "frame_0000.png"), "one/frame_0001.png": filepath.Join("..", "p-sheet.png"),
	} {
		if !linked(to, in(name)) {
			t.Skip("no links here")
		}
	}
	unwritable(t, dir, job.ExitUsage,
		"encode -m m.safetensors frames -o soft.safetensors # --output=soft.safetensors is the checkpoint m.safetensors",
		"encode -m m.safetensors frames -o again.safetensors # is the checkpoint m.safetensors",
		"encode -m soft.safetensors frames -o m.safetensors # --output=m.safetensors is the checkpoint soft.safetensors",
		"encode -m soft.safetensors frames -o soft.safetensors # is the checkpoint",
		"roundtrip -m m.safetensors frames -o same # --output=same is the input frames",
		"roundtrip -m m.safetensors same -o frames # --output=frames is the input same",
		"roundtrip -m m.safetensors far -o above # --output=above holds the input far",
		"roundtrip -m m.safetensors above/frames -o far/../../frames/.. # is the current folder",
		"roundtrip -m m.safetensors frames -o same/new # lies in the input frames",
		"roundtrip -m m.safetensors linking -o results # --output=results holds the input's frame linking/a.png",
		"roundtrip -m m.safetensors linking -o results/frame_0000.png # is the input's frame linking/a.png",
		"roundtrip -m m.safetensors one/frame_0001.png -o one # --output=one holds the input one/frame_0001.png",
	)
}

func TestRefuseNamelessOutputs(t *testing.T) {
	dir := workplace(t)
	var lines []string
	for _, command := range []string{"decode -m m.safetensors z.safetensors", "encode -m m.safetensors frames", "roundtrip -m m.safetensors frames"} {
		for o, want := range map[string]string{`""`: `--output="": expected a name`, ".": "--output=. is the current folder", "./": "is the current folder"} {
			lines = append(lines, command+" -o "+o+" # "+want)
		}
	}
	lines = append(lines, `demo -o "" # expected a name`, "demo -o - # standard output")
	unwritable(t, dir, job.ExitUsage, lines...)
}

// With --no-clobber no file is replaced, not even one that accompanies the output.
func TestRefuseToClobber(t *testing.T) {
	dir := workplace(t)
	for _, name := range []string{"x.npy", "y-sheet.png"} {
		write(t, filepath.Join(dir, name), []byte("mine"))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "out", "decoded"), 0o777))
	unwritable(t, dir, job.ExitUsage,
		"decode -m m.safetensors z.safetensors -o x.npy --no-clobber # tessera: x.npy: exists, and --no-clobber is set",
		"decode -m m.safetensors z.safetensors -o one --no-clobber # tessera: one: exists",
		"encode -m m.safetensors frames -o x.npy --no-clobber # tessera: x.npy: exists",
		"roundtrip -m m.safetensors frames -o x.npy --no-clobber # tessera: x.npy: exists",
		"roundtrip -m m.safetensors frames -o y.npy --no-clobber # tessera: y-sheet.png: exists",
		"demo -o out --no-clobber # tessera: out/decoded: exists",
	)
	if linked("nowhere.npy", filepath.Join(dir, "lost.npy")) {
		unwritable(t, dir, job.ExitUsage, "decode -m m.safetensors z.safetensors -o lost.npy --no-clobber # tessera: lost.npy: exists")
		unwritable(t, dir, job.ExitUsage, "decode -m m.safetensors z.safetensors -o lost.npy # is a broken link")
	}
}

// Other outputs are written as usual, beside the inputs and over older results.
func TestOutputsBesideInputs(t *testing.T) {
	needDevice(t)
	dir := workplace(t)
	before := tree(t, dir)
	for _, line := range []string{
		"encode -m m.safetensors frames -o frames/z.safetensors",
		"encode -m m.safetensors frames -o new.npy --no-clobber",
		"decode -m m.safetensors z.safetensors -o new --no-clobber",
		"decode -m m.safetensors z.safetensors -o new",
		"decode -m m.safetensors z.safetensors -o new.png",
	} {
		succeed(t, strings.Fields(line)...)
	}
	after := tree(t, dir)
	for _, name := range []string{"frames/z.safetensors", "new.npy", "new", "new/frame_0000.png", "new.png"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		assert.NotEmpty(t, after[path], name)
		delete(after, path)
	}
	require.Equal(t, before, after)
}

// A frame that a pattern matches is an input, and so is its folder.
func TestRefusePatternsInput(t *testing.T) {
	frames := demoClip(t, 2, 32, 32)
	pattern := filepath.Join(frames, "frame_%04d.png")
	for out, want := range map[string]string{
		filepath.Join(frames, "frame_0001.png"): "is the input's frame " + filepath.Join(frames, "frame_0001.png") + ", which it would replace",
		frames:                                  "holds the input " + pattern + ", which it would replace",
	} {
		o := tessera(t, "roundtrip", "-m", tiny, pattern, "-o", out)
		assert.Equal(t, job.ExitUsage, o.code)
		assert.Contains(t, o.stderr, want)
	}
	assert.Contains(t, succeed(t, "info", pattern).stdout, pattern+": video of 2 frames of 32x32 pixels\n")
}

// relative returns a folder's tree, by names relative to it.
func relative(t *testing.T, dir string) map[string]string {
	all := map[string]string{}
	for path, is := range tree(t, dir) {
		all[strings.TrimPrefix(path, dir)] = is
	}
	return all
}
