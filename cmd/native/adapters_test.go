package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/cmd/native/flags"
)

// Several adapters share a job's tiles and give one adapter's result; an adapter that is
// named twice is two devices.
func TestAdapters(t *testing.T) {
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 5, 96, 96)
	one, two := filepath.Join(dir, "one.safetensors"), filepath.Join(dir, "two.safetensors")
	succeed(t, "encode", "-m", tiny, clip, "-o", one, "--tile=32")
	r := succeedJSON(t, "encode", "-m", tiny, clip, "-o", two, "--tile=32", "--adapter=0,0")
	require.Len(t, r.Encode.Shares, 1)
	assert.Equal(t, r.Adapter, r.Encode.Shares[0].Adapter)
	assert.GreaterOrEqual(t, r.Encode.Shares[0].Tiles, 1)
	assert.Less(t, r.Encode.Shares[0].Tiles, r.Encode.Tiles)
	a, _ := readTensor(t, one)
	b, _ := readTensor(t, two)
	require.Equal(t, a.shape, b.shape)
	assert.InDeltaSlice(t, a.data, b.data, 1e-4)

	o := succeed(t, "decode", "-m", tiny, one, "-o", filepath.Join(dir, "whole.npy"), "--tile=off", "--adapter=0,0")
	assert.Contains(t, o.stderr, "decode: one tile, so only ")
	o = succeed(t, "decode", "-m", wan21(t), latentFile(t, 16, 1, 8, 8), "-o", filepath.Join(dir, "linear.npy"), "--tiling=diffusers", "--tile=32", "--overlap=8", "--adapter=0,0")
	assert.Contains(t, o.stderr, "diffusers tiles are blended in order")
	succeed(t, "decode", "-m", tiny, one, "-o", filepath.Join(dir, "all.npy"), "--tile=32", "--adapter=all")
	o = tessera(t, "decode", "-m", tiny, one, "-o", filepath.Join(dir, "none.npy"), "--adapter=0,99")
	assert.Equal(t, job.ExitDevice, o.code)
	assert.Contains(t, o.stderr, "adapter 99")
}

func TestAdaptersFlag(t *testing.T) {
	for text, want := range map[string]flags.Adapters{
		"best": {}, "all": {All: true}, "3": {List: []int{3}}, "1,0,1": {List: []int{1, 0, 1}},
	} {
		var f flags.Adapters
		require.NoError(t, f.UnmarshalText([]byte(text)))
		assert.Equal(t, want, f, text)
		assert.Len(t, f.Others(), max(0, len(f.List)-1))
	}
	for _, text := range []string{"", "-1", "0,", ",1", "0,best", "a"} {
		assert.ErrorContains(t, new(flags.Adapters).UnmarshalText([]byte(text)), "expected best, all or numbers")
	}
}
