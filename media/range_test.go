//go:build !js

package media

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
)

// numbersFrom returns n numbers from low to high, inclusive.
func numbersFrom(n int, low, high float32) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = low + (high-low)*float32(i*11%n)/float32(n-1)
	}
	return v
}

// Numbers that cannot be pixels, such as 0 to 255, are refused; those in [0,1] cause a
// warning; dark clips, bright clips and a decoder's do not.
func TestPixelRanges(t *testing.T) {
	const n = 3 * 2 * 5 * 7
	for _, c := range []struct {
		name      string
		low, high float32
		error     string
		warns     bool // that they look like pixels in [0,1] or, beyond 2, that they are far outside
	}{
		{"0 to 255", 0, 255, "numbers from 0 to 255, expected pixels in [-1,1]; those of 0 to 255 are read as uint8", false},
		{"less its mean", -128, 127, "numbers from -128 to 127, expected pixels in [-1,1]", false},
		{"a dark clip in 0 to 255", 0, 12, "numbers from 0 to 12, expected", false},
		{"0 to 1", 0, 1, "", true},
		{"nearly 0 to 1", 0.02, 0.996, "", true},
		{"0 to 1, without white", 0, 0.9, "", true},
		{"0 to 1, and dark", 0.01, 0.3, "", true},
		{"0 to 1, resized by a sharp filter", -0.04, 1.04, "", true},
		{"gray to white", -0.1, 1, "", false},
		{"whole", -1, 1, "", false},
		{"by ImageNet's mean and deviation", -2.118, 2.64, "", true},
		{"a decoder's", -1.6, 1.9, "", false},
		{"dark", -1, -0.3, "", false},
		{"dark with a light", -1, 1, "", false},
		{"black", -1, -1, "", false},
		{"gray", 0, 0, "", false},
		{"white", 1, 1, "", false},
		{"bright", 0.4, 1, "", false},
	} {
		data := numbersFrom(n, c.low, c.high)
		for name, file := range map[string][]byte{
			"v.npy":         append(npyPrefix([]int{3, 2, 5, 7}), floatBytes(nil, data)...),
			"v.safetensors": latentFile(t, nil, latentTensor{framesKey, safetensors.F32, []int{3, 2, 5, 7}, data}),
		} {
			path := filepath.Join(t.TempDir(), name)
			require.NoError(t, os.WriteFile(path, file, 0o666))
			var warned []string
			clip, err := OpenWith(context.Background(), path, 3, OpenOptions{Warn: func(text string) { warned = append(warned, text) }})
			if c.error != "" {
				assert.ErrorIs(t, err, ErrInput, c.name)
				assert.ErrorContains(t, err, path+": "+c.error, c.name)
				continue
			}
			require.NoError(t, err, c.name)
			assert.NoError(t, clip.ReadFrame(1, make([]float32, 3*5*7)), c.name)
			require.NoError(t, clip.Close())
			var want []string
			if c.warns && c.high > 2 {
				want = []string{fmt.Sprintf("%s: numbers from %.3g to %.3g are read as pixels in [-1,1]; convert them first if they are normalised by a mean and a standard deviation, such as ImageNet's", path, c.low, c.high)}
			} else if c.warns {
				want = []string{fmt.Sprintf("%s: numbers from %.3g to %.3g look like pixels in [0,1], but are read as ones in [-1,1], of which 0 is a medium gray", path, c.low, c.high)}
			}
			assert.Equal(t, want, warned, c.name)
		}
	}
}

// Reading refuses an invalid frame that the sample has missed.
func TestPixelsBetweenSamples(t *testing.T) {
	const side = 512
	data := make([]float32, 3*4*side*side)
	data[5000] = 9
	path := filepath.Join(t.TempDir(), "v.npy")
	require.NoError(t, os.WriteFile(path, append(npyPrefix([]int{3, 4, side, side}), floatBytes(nil, data)...), 0o666))
	clip, err := Open(context.Background(), path, 3)
	require.NoError(t, err)
	defer clip.Close()
	frame := make([]float32, 3*side*side)
	err = clip.ReadFrame(0, frame)
	require.ErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, "v.npy: frame 0: numbers from 0 to 9, expected pixels in [-1,1]")
	require.NoError(t, clip.ReadFrame(1, frame))
}

// All of few numbers are checked, and a part of many, from the first to the last.
func TestSampleRange(t *testing.T) {
	for _, n := range []int{1, 2, 4096, 4097, 64 * 4096, 64*4096 + 1, 3_000_000} {
		read, last := 0, 0
		r, err := SampleRange(n, func(dst []float32, start int) error {
			require.LessOrEqual(t, start+len(dst), n)
			read, last = read+len(dst), max(last, start+len(dst))
			for i := range dst {
				dst[i] = float32(start + i)
			}
			return nil
		})
		require.NoError(t, err)
		assert.LessOrEqual(t, read, 64*4096)
		assert.GreaterOrEqual(t, read, min(n, 64*4096))
		assert.Zero(t, r.Min, "%d numbers", n)
		assert.InDelta(t, n-1, r.Max, 64, "%d numbers, to %d", n, last)
	}
}

// Arrays of uint8 are pixels from 0 to 255.
func TestPixelsOf8Bits(t *testing.T) {
	codes := make([]byte, 3*2*5*7)
	for i := range codes {
		codes[i] = byte(i * 11)
	}
	header := slices.Concat([]byte(`{"frames":{"dtype":"U8","shape":[3,2,5,7],"data_offsets":[0,210]}}`), []byte("      "))
	for name, head := range map[string][]byte{
		"v.npy":         bytes.Replace(npyPrefix([]int{3, 2, 5, 7}), []byte("<f4"), []byte("|u1"), 1),
		"v.safetensors": append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...),
	} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, append(slices.Clone(head), codes...), 0o666))
		clip, err := Open(context.Background(), path, 3)
		require.NoError(t, err, name)
		frame := make([]float32, 5*7*3)
		require.NoError(t, clip.ReadFrame(1, frame), name)
		for i := range 35 {
			for c := range 3 {
				require.Equal(t, float32(codes[c*70+35+i])/127.5-1, frame[3*i+c], "%s: pixel %d", name, i)
			}
		}
		require.NoError(t, clip.Close())
	}
}
