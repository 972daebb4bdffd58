package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/bench"
)

// bench measures a checkpoint on clips of the requested size, and writes its output to a
// report that names no folder.
func TestBench(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir := t.TempDir()
	for _, name := range []string{"report.json", "report.md"} {
		file := filepath.Join(dir, name)
		o := succeed(t, "--json", "bench", "decode", "-m", tiny, "--size=24x16", "--frames=2", "--seconds=2", "--report", file)
		var r bench.Report
		require.NoError(t, json.Unmarshal([]byte(o.stdout), &r))
		require.Len(t, r.Jobs, 1)
		j := r.Jobs[0]
		require.Equal(t, []int{2, 16, 24}, []int{j.Frames, j.Height, j.Width})
		require.Equal(t, "decode", j.Op)
		require.Positive(t, j.Seconds)
		require.Positive(t, r.Roofline.GFLOPs)
		backend := cmp.Or(os.Getenv("TESSERA_BACKEND"), "auto")
		require.Equal(t, "tessera bench decode --seconds=2 --backend="+backend+" --precision=auto --size=24x16 --frames=2 --no-tune --model=tiny-seedvr2.safetensors", r.Command)
		require.NotEmpty(t, r.Version)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		home, err := os.UserHomeDir()
		require.NoError(t, err)
		for _, secret := range []string{home, dir, "assets"} {
			assert.NotContains(t, string(text), secret)
		}
		if name == "report.json" {
			require.JSONEq(t, o.stdout, string(text))
			continue
		}
		require.Equal(t, r.Markdown()[:len("# tessera bench\n")], string(text[:len("# tessera bench\n")]))
		require.Contains(t, string(text), r.Command)
		require.Contains(t, string(text), "| tiny-seedvr2.safetensors decode | 2 × 24×16 |")
	}
}

func TestBenchFlags(t *testing.T) {
	dir := t.TempDir()
	model, linked := filepath.Join(dir, "model.safetensors"), filepath.Join(dir, "model.json")
	data, err := os.ReadFile(tiny)
	require.NoError(t, err)
	write(t, model, data)
	require.NoError(t, os.Link(model, linked)) // of a copy: folders may be on other disks
	there := filepath.Join(t.TempDir(), "there.md")
	write(t, there, nil)
	for _, c := range []struct {
		flags []string
		code  int
		says  string
	}{
		{[]string{"--report=r.txt"}, 2, "--report=r.txt: expected .md or .json"},
		{[]string{"--seconds=0"}, 2, "--seconds=0: expected 1 to 100000"},
		{[]string{"nothing"}, 2, "must be one of"},
		{[]string{"-m", model, "--report", linked}, 2, "which it would replace"},
		{[]string{"--no-clobber", "--report", there}, 2, "exists"},
		{[]string{"-m", there}, 3, "there.md"},
		{[]string{"-m", "seedvr3"}, 2, "--model=seedvr3: no such file, expected a checkpoint or a name from `tessera models`"},
		{[]string{"--adapter=0,1"}, 2, "bench measures one adapter"},
		{[]string{"--adapter=all"}, 2, "bench measures one adapter"},
	} {
		o := tessera(t, append([]string{"bench"}, c.flags...)...)
		assert.Equal(t, c.code, o.code, "%v: %s", c.flags, o.stderr)
		assert.Contains(t, o.stderr, c.says)
	}
}
