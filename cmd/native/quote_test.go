package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
)

// evil is a hostile name: it clears a terminal, reverses text, and begins a line like
// this program's.
const evil = "a\x1b[2J\x1b]0;owned\a\u202egnp.\u009b31m\u2028\x7f\r\ntessera: warning: all is well"

// harmless checks that the output has no terminal control characters.
func harmless(t *testing.T, o outcome) {
	t.Helper()
	for _, text := range []string{o.stdout, o.stderr} {
		assert.True(t, utf8.ValidString(text))
		for _, r := range text {
			assert.True(t, r == '\n' || strconv.IsPrint(r), "%q in %.500q", r, text)
		}
		assert.NotContains(t, text, "\ntessera: warning: all")
		assert.Less(t, len(text), 64<<10, "bytes printed")
	}
}

// tensorsNamed writes files of tensors with these names, in both formats.
func tensorsNamed(t *testing.T, meta map[string]string, names ...string) (paths []string) {
	t.Helper()
	var tensors []tensor
	var torch []pthtest.Tensor
	for _, name := range names {
		tensors = append(tensors, tensor{name, []int{1}, []float32{1}})
		torch = append(torch, pthtest.Tensor{Name: name, DType: safetensors.F32, Shape: []int{1}, Data: pthtest.Bytes(make([]byte, 4))})
	}
	paths = []string{filepath.Join(t.TempDir(), "x.safetensors"), filepath.Join(t.TempDir(), "x.pth")}
	writeTensors(t, paths[0], meta, tensors...)
	require.NoError(t, pthtest.Create(paths[1], torch, pthtest.Options{}))
	return paths
}

// Control characters in names of tensors are escaped in every message.
func TestNamesAreQuoted(t *testing.T) {
	z := latentFile(t, 16, 1, 2, 2)
	out := filepath.Join(t.TempDir(), "out.png")
	for _, names := range [][]string{
		{evil, evil + "2"}, // no model
		{seedVR2Mark, "encoder.down_blocks.0." + evil},              // a model's mark alone
		{"decoder.middle.0.residual.0.gamma", evil, evil + "again"}, // another model's
	} {
		for _, path := range tensorsNamed(t, map[string]string{evil: evil, "norm_num_groups": evil}, names...) {
			for _, args := range [][]string{{"info", path}, {"decode", "-m", path, z, "-o", out}, {"decode", "-m", tiny, path, "-o", out}} {
				for _, more := range [][]string{nil, {"--json"}} {
					o := tessera(t, append(args, more...)...)
					assert.Equal(t, job.ExitInput, o.code, "%v: %s", args, o.stderr)
					harmless(t, o)
				}
			}
		}
	}
}

const seedVR2Mark = "decoder.up_blocks.2.upsamplers.0.upscale_conv.weight"

// info prints metadata, and other commands print parts of it.
func TestMetadataIsQuoted(t *testing.T) {
	dir := t.TempDir()
	meta := map[string]string{evil: evil, "a long": strings.Repeat("x", 4<<20), "tessera.model": evil, "tessera.family": evil, "tessera.file": evil}
	for i := range 100 {
		meta[fmt.Sprintf("key %03d", i)] = "value"
	}
	z := writeTensors(t, filepath.Join(dir, "z.safetensors"), meta, tensor{"latent", []int{16, 1, 1, 1}, make([]float32, 16)})
	o := succeed(t, "info", z)
	harmless(t, o)
	require.Contains(t, o.stdout, `a\x1b[2J\x1b]0;owned\a\u202egnp.\u009b31m\u2028\x7f\r\ntessera: warning`)
	require.Contains(t, o.stdout, "(4194304 bytes)")
	require.Contains(t, o.stdout, "and 55 more")

	// JSON keeps everything, escaped.
	o = succeed(t, "info", z, "--json")
	var told struct{ Metadata map[string]string }
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &told))
	require.Equal(t, meta, told.Metadata)
	for _, r := range o.stdout {
		if r != '\n' && !strconv.IsPrint(r) {
			require.Fail(t, "not printable", "%q", r)
		}
	}
	for _, key := range []string{"tessera.frames", "tessera.fps", "tessera.scale", "tessera.kind", "tessera.images"} {
		z := writeTensors(t, filepath.Join(dir, "bad.safetensors"), map[string]string{key: evil}, tensor{"latent", []int{16, 1, 1, 1}, make([]float32, 16)})
		harmless(t, tessera(t, "decode", "-m", tiny, z, "-o", filepath.Join(dir, "out.png"), "--adapter", "99"))
	}
}

// A file's name may come from an archive.
func TestFileNamesAreQuoted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names have no such characters there")
	}
	for _, ext := range []string{".safetensors", ".pth", ".npy", ".latent", ".y4m", ".png", ".mp4"} {
		path := filepath.Join(t.TempDir(), evil+ext)
		if err := os.WriteFile(path, []byte("nonsense of some length"), 0o600); err != nil {
			t.Skipf("no such names here: %v", err)
		}
		for _, args := range [][]string{{"info", path}, {"info", path + "none"}, {"info", path, "--json"}, {"encode", "-m", tiny, path, "-o", "z.npy"}} {
			o := tessera(t, args...)
			assert.NotZero(t, o.code)
			harmless(t, o)
		}
	}
}

// Lists of tensors are shortened.
func TestLongListsEnd(t *testing.T) {
	f, err := safetensors.Open(tiny)
	require.NoError(t, err)
	defer f.Close()
	var all []tensor
	for _, name := range f.Names() {
		x, _ := f.Tensor(name)
		v := tensor{name, x.Shape, make([]float32, x.Elements())}
		require.NoError(t, x.ReadF32(v.data, 0))
		all = append(all, v)
	}
	for i := range 20_000 {
		all = append(all, tensor{fmt.Sprintf("encoder.unknown.%0100d", i), []int{1}, []float32{1}})
	}
	for _, tensors := range [][]tensor{all, all[len(all)-20_000:]} {
		o := tessera(t, "info", "--verbose", writeTensors(t, filepath.Join(t.TempDir(), "long.safetensors"), f.Metadata(), tensors...))
		require.Equal(t, job.ExitInput, o.code)
		harmless(t, o)
		require.Contains(t, o.stderr, "and 19992 more")
	}
	many := rebuilt(t, func(x tensor) *tensor {
		if x.name == "decoder.conv_out.bias" {
			x.name = strings.Repeat("n", 1<<20)
		}
		return &x
	})
	o := tessera(t, "info", many)
	require.Equal(t, job.ExitInput, o.code)
	harmless(t, o)
	require.Contains(t, o.stderr, "(1048576 bytes)")
}
