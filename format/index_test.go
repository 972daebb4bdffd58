//go:build !js

package format

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
)

// shards writes files of tensors with one F32 each, and their index with additional JSON,
// and returns the index's path.
func shards(t *testing.T, files map[string]map[string]float32, text string) string {
	t.Helper()
	dir := t.TempDir()
	for name, tensors := range files {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		var specs []safetensors.Spec
		names := slices.Sorted(maps.Keys(tensors))
		for _, tensor := range names {
			specs = append(specs, safetensors.Spec{Name: tensor, DType: safetensors.F32, Shape: []int{1}})
		}
		w, err := safetensors.NewWriter(f, specs, map[string]string{"of": name})
		require.NoError(t, err)
		for _, tensor := range names {
			require.NoError(t, w.Begin(tensor))
			require.NoError(t, w.WriteF32([]float32{tensors[tensor]}))
		}
		require.NoError(t, w.Close())
		require.NoError(t, f.Close())
	}
	path := filepath.Join(dir, "model.safetensors.index.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	return path
}

var two = map[string]map[string]float32{
	"model-00001-of-00002.safetensors": {"c": 3, "a": 1},
	"model-00002-of-00002.safetensors": {"b": 2, "unnamed": 9},
}

const twoMap = `"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors", "c": "model-00001-of-00002.safetensors"}`

// The files of an index are read as one, each tensor from its file.
func TestIndex(t *testing.T) {
	for name, text := range map[string]string{
		"as huggingface_hub writes it": `{"metadata": {"total_size": 12}, ` + twoMap + `}`,
		"a size with a point":          `{"metadata": {"total_size": 12.0, "by": "x"}, ` + twoMap + `}`,
		"no size":                      `{"metadata": {}, ` + twoMap + `}`,
		"no metadata, a mark":          "\ufeff\r\n{" + twoMap + "}",
	} {
		t.Run(name, func(t *testing.T) {
			path := shards(t, two, text)
			f, err := Open(path)
			require.NoError(t, err)
			require.Equal(t, path, f.Name())
			require.ElementsMatch(t, []string{"a", "c", "b"}, f.Names())
			require.Equal(t, map[string]string{"of": "model-00001-of-00002.safetensors"}, f.Metadata())
			size := int64(0)
			for i, tensor := range []string{"a", "b", "c"} {
				x, ok := f.Tensor(tensor)
				require.True(t, ok)
				got := make([]float32, 1)
				require.NoError(t, x.ReadF32(got, 0))
				require.Equal(t, []float32{float32(i + 1)}, got)
			}
			_, ok := f.Tensor("unnamed")
			require.False(t, ok)
			files := Files(path)
			require.Len(t, files, 3)
			for _, shard := range files[:2] {
				info, err := os.Stat(shard)
				require.NoError(t, err)
				size += info.Size()
			}
			require.Equal(t, path, files[2])
			require.Equal(t, size, f.Size())
			x, _ := f.Tensor("a")
			require.NoError(t, f.Close())
			require.Error(t, x.ReadF32(make([]float32, 1), 0), "closed")
		})
	}
}

// An invalid index is refused with the reason.
func TestIndexRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"metadata": {"total_size": 16}, ` + twoMap + `}`:                        "metadata total_size is 16 bytes, expected 12, the sum of its tensors",
		`{"metadata": {"total_size": "12"}, ` + twoMap + `}`:                      "is not the index of a checkpoint",
		`{"weight_map": {"a": "model-00003-of-00002.safetensors"}}`:               `shard "model-00003-of-00002.safetensors": `,
		`{"weight_map": {"d": "model-00001-of-00002.safetensors"}}`:               "1 tensors are not in the shards that it names: d in model-00001-of-00002.safetensors",
		`{"weight_map": {"a": "../m.safetensors"}}`:                               `weight_map has "a" in "../m.safetensors", expected the name of a file beside the index`,
		`{"weight_map": {"a": "x/../../m.safetensors"}}`:                          "expected the name of a file beside the index",
		`{"weight_map": {"a": "/etc/passwd"}}`:                                    "expected the name of a file beside the index",
		`{"weight_map": {"a": "C:\\Users\\m.safetensors"}}`:                       "expected the name of a file beside the index",
		`{"weight_map": {"a": ""}}`:                                               "expected the name of a file beside the index",
		`{"weight_map": {"a": 1}}`:                                                `weight_map has no file's name for "a"`,
		`{"weight_map": {"a": "model-00001-of-00002.safetensors", "a": "other"}}`: `weight_map has "a" twice`,
		`{"weight_map": {}}`:                                                      "weight_map names no tensor",
		`{"weight_map": ["a"]}`:                                                   "weight_map is not an object",
		`{"weight_map": {"a": "model-00001-of-00002.safetensors"`:                 "is not the index of a checkpoint",
		`{"weight_map": {"a": "model.safetensors.index.json"}}`:                   "is another index, expected tensors",
		`{"weight_map": {"a": "."}}`:                                              "a folder, not a regular file",
	} {
		path := shards(t, two, text)
		f, err := Open(path)
		require.ErrorContains(t, err, "format: "+path+": ", text)
		require.ErrorContains(t, err, want, text)
		require.Nil(t, f)
	}
	path := shards(t, two, `{"weight_map": {"a": "model-00003-of-00002.safetensors"}}`)
	_, err := Open(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, err, "\nput the files that it names beside it: model-00003-of-00002.safetensors")
	_, err = Open(shards(t, two, `{"metadata": {"total_size": 9000000000}, "weight_map": {"a": "gone.safetensors"}}`))
	require.ErrorContains(t, err, "\nput the files that it names beside it, 9.0 GB in all: gone.safetensors")
	_, err = Open(filepath.Dir(path))
	require.ErrorContains(t, err, "a folder, not a regular file: the checkpoint in it is "+path)
}

// IndexOf derives the index's name from a shard's.
func TestIndexOf(t *testing.T) {
	path := shards(t, two, "{"+twoMap+"}")
	dir := filepath.Dir(path)
	index, n, beside := IndexOf(filepath.Join(dir, "model-00001-of-00002.safetensors"))
	require.Equal(t, path, index)
	require.Equal(t, 2, n)
	require.True(t, beside)
	index, n, beside = IndexOf(filepath.Join(dir, "pytorch_model-00003-of-00012.bin"))
	require.Equal(t, filepath.Join(dir, "pytorch_model.bin.index.json"), index)
	require.Equal(t, 12, n)
	require.False(t, beside)
	for _, name := range []string{"", "model.safetensors", "model-00001-of-00001.safetensors", "model-1-of-2.safetensors", "model-00001-of-0000x.safetensors", "model_00001_of_00002.pth", "00002.bin", "-of-00002.bin"} {
		index, _, _ = IndexOf(name)
		require.Empty(t, index, name)
	}
}

// The contents of an index are its shards', also across their boundaries.
func TestContents(t *testing.T) {
	path := shards(t, two, `{`+twoMap+`}`)
	var want []byte
	for _, name := range []string{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"} {
		b, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		require.NoError(t, err)
		want = append(want, b...)
	}
	c, err := ReadContents(path)
	require.NoError(t, err)
	defer c.Close()
	require.EqualValues(t, len(want), c.Size())
	for at := range len(want) {
		for _, n := range []int{0, 1, 7, len(want)/2 + 1, len(want)} {
			got := make([]byte, n)
			read, err := c.ReadAt(got, int64(at))
			left := want[at:][:min(n, len(want)-at)]
			require.Equal(t, left, got[:read], "%d bytes at %d", n, at)
			require.Equal(t, n > len(left), err == io.EOF)
		}
	}
	single := filepath.Join(filepath.Dir(path), "model-00001-of-00002.safetensors")
	one, err := ReadContents(single)
	require.NoError(t, err)
	defer one.Close()
	got, err := io.ReadAll(io.NewSectionReader(one, 0, one.Size()))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(want, got) && len(got) < len(want))
	require.Equal(t, []string{single}, Files(single))
}

// Time and memory for an index depend on its length.
func FuzzIndex(f *testing.F) {
	f.Add(`{` + twoMap + `}`)
	f.Add(`{"metadata": null, "weight_map": null}`)
	f.Add(`{"weight_map": {"a": {"b": []}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		x, err := readIndex(strings.NewReader(text))
		if err != nil {
			return
		}
		require.NotEmpty(t, x.shards)
		require.True(t, json.Valid([]byte(strings.TrimPrefix(text, "\ufeff"))))
		for _, name := range x.shards {
			require.True(t, filepath.IsLocal(name))
		}
	})
}
