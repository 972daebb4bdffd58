//go:build !js

package media

import (
	"archive/zip"
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// foreign returns the latent in testdata/latents, as make_latents.py describes it.
func foreign() []float32 {
	data := make([]float32, 16*2*2*3)
	for i := range data {
		data[i] = float32(i%256-128) / 64
	}
	return data
}

// Files written by torch.save, numpy.savez and numpy.savez_compressed themselves.
func TestForeignLatents(t *testing.T) {
	for _, name := range []string{"alone.pt", "samples.pt", "cached.pth", "named.npz", "packed.npz"} {
		path := filepath.Join("testdata", "latents", name)
		for _, channels := range []int{0, 16} {
			l, err := ReadLatent(path, channels)
			require.NoError(t, err, name)
			assert.Equal(t, []int{16, 2, 2, 3}, l.Shape(), name)
			assert.Equal(t, foreign(), l.Data, name)
		}
		file, err := os.ReadFile(path)
		require.NoError(t, err)
		l, err := DecodeLatent(bytes.NewReader(file), int64(len(file)), name, LatentOptions{Channels: 16})
		require.NoError(t, err, name)
		assert.Equal(t, foreign(), l.Data, name)
		l, err = InspectLatent(bytes.NewReader(file), int64(len(file)), name, LatentOptions{Channels: 16})
		require.NoError(t, err, name)
		assert.Equal(t, []int{16, 2, 2, 3}, l.Shape(), name)
		assert.Nil(t, l.Data, name)
	}
	for name, want := range map[string]string{
		"two.pt":      "2 tensors (a, b), expected one named latent, samples, latent_tensor, latents, latent_image, or only one",
		"two.npz":     `2 arrays (a, b), expected one named latent, samples, latent_tensor, latents, latent_image, or only one`,
		"list.pt":     "it holds a list, expected a dict of tensors",
		"permuted.pt": "has strides [6 12 3 1], expected [96 6 3 1]: save it again with torch.save after .contiguous()",
	} {
		path := filepath.Join("testdata", "latents", name)
		_, err := ReadLatent(path, 16)
		assert.ErrorIs(t, err, ErrInput, name)
		assert.ErrorContains(t, err, want, name)
		assert.ErrorContains(t, err, "media: "+path+": ", name)
	}
}

// A .npz or .pt that is truncated anywhere, or has a flipped bit, is refused or reads
// unchanged. A .npz, which has checksums, never gives other numbers, and the shape never
// changes silently.
func TestDamagedForeignLatents(t *testing.T) {
	for _, name := range []string{"alone.pt", "named.npz", "packed.npz"} {
		file, err := os.ReadFile(filepath.Join("testdata", "latents", name))
		require.NoError(t, err)
		refused := 0
		for i := range 200 {
			at := i * len(file) / 200
			_, err := DecodeLatent(bytes.NewReader(file[:at]), int64(at), name, LatentOptions{Channels: 16})
			require.ErrorIs(t, err, ErrInput, "%s cut at %d", name, at)
			bad := slices.Clone(file)
			bad[at] ^= 1 << (i % 8)
			l, err := DecodeLatent(bytes.NewReader(bad), int64(len(bad)), name, LatentOptions{Channels: 16})
			if err != nil {
				require.ErrorIs(t, err, ErrInput, "%s with byte %d changed", name, at)
				refused++
			} else if strings.HasSuffix(name, ".npz") {
				require.Equal(t, foreign(), l.Data, "%s with byte %d changed", name, at)
			}
		}
		t.Logf("%s: %d of 200 changed files refused", name, refused)
	}
}

// npzFile returns a zip of files.
func npzFile(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := w.Create(name)
		require.NoError(t, err)
		_, err = f.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

// Sizes that a zip only claims take no memory.
func TestHostileNPZ(t *testing.T) {
	whole := string(npyPrefix([]int{16, 2, 2, 3})) + string(floatBytes(nil, foreign()))
	huge := string(npyPrefix([]int{16, 1 << 20, 1 << 10, 1 << 10}))
	many := map[string]string{}
	for i := range 20000 {
		many[fmt.Sprintf("%064d", i)] = ""
	}
	for _, c := range []struct {
		want string
		file []byte
	}{
		{"truncated: shape [16 1048576 1024 1024] needs", npzFile(t, map[string]string{"latent.npy": huge})},
		{"damaged", patchedSize(npzFile(t, map[string]string{"latent.npy": huge}), 0x7fffffff)},
		{"its directory has more than 1048576 bytes", npzFile(t, many)},
		{"not a .npy file", npzFile(t, map[string]string{"a": strings.Repeat("x", 100)})},
		{"bytes are too few for a .npy header", npzFile(t, map[string]string{"a": ""})},
		{"1 bytes follow the data", npzFile(t, map[string]string{"a": whole + "x"})},
		{"0 arrays, expected one named", npzFile(t, nil)},
		{"not a .npz file", []byte(whole)},
		{`("a\x1b[2J", b)`, npzFile(t, map[string]string{"a\x1b[2J": "", "b": ""})},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := DecodeLatent(bytes.NewReader(c.file), int64(len(c.file)), "z.npz", LatentOptions{Channels: 16})
		runtime.ReadMemStats(&after)
		assert.ErrorIs(t, err, ErrInput, c.want)
		assert.ErrorContains(t, err, c.want)
		assert.LessOrEqual(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "bytes allocated: %s", c.want)
	}
}

// patchedSize changes the size of the only file in a zip's directory.
func patchedSize(file []byte, size uint32) []byte {
	at := bytes.LastIndex(file, []byte("PK\x01\x02")) + 24
	for i := range 4 {
		file[at+i] = byte(size >> (8 * i))
	}
	return file
}

// A file in place of a latent or array is identified under every name, with advice.
func TestForeignArrays(t *testing.T) {
	for text, want := range map[string]string{
		"version https://git-lfs.github.com/spec/v1\noid sha256:20678548\nsize 501324814\n": "is a Git LFS pointer, which stands for the file",
		"<!DOCTYPE html>\n<html><head><title>Sign in</title>":                               "is a web page\ndownload the file itself",
		"<!-- saved from url=(0014)about:internet -->\n<html>":                              "is a web page\ndownload the file itself",
		"<html>":                    "is a web page\ndownload the file itself",
		"GGUF\x03\x00\x00\x00":      "is a GGUF file, whose weights are quantised for other programs",
		"\x89HDF\r\n\x1a\n":         "is an HDF5 file",
		"\x1f\x8b\x08":              "is a gzip archive\nunpack it",
		strings.Repeat("\x00", 100): "is zeros at the start, as after an interrupted download",
	} {
		for _, ext := range []string{"npy", "npz", "safetensors", "latent", "pt", "pth", "bin"} {
			path := filepath.Join(t.TempDir(), "z."+ext)
			require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
			_, err := ReadLatent(path, 16)
			require.ErrorIs(t, err, ErrInput)
			require.ErrorContains(t, err, path+": "+want)
			_, err = InspectLatent(strings.NewReader(text), int64(len(text)), "z."+ext, LatentOptions{})
			require.ErrorContains(t, err, "z."+ext+": "+want)
			if ext != "npy" && ext != "pt" && ext != "safetensors" {
				continue
			}
			_, err = Open(t.Context(), path, 3)
			require.ErrorContains(t, err, path+": "+want, "as a video")
		}
		if strings.Contains(want, "HDF5") || strings.Contains(want, "gzip") || strings.Contains(want, "zeros") {
			continue // a video may begin with these bytes
		}
		for _, name := range []string{"z.gguf", "z.ckpt", "z"} {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
			_, err := ReadLatent(path, 16)
			require.ErrorContains(t, err, path+": "+want)
			_, err = Inspect(t.Context(), path)
			require.ErrorContains(t, err, path+": "+want)
			_, err = Open(t.Context(), path, 3)
			require.ErrorContains(t, err, path+": "+want)
		}
	}
}
