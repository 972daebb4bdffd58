package media

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
)

// sparse writes a sparse file of a shape, as .npy or safetensors by its name.
func sparse(t *testing.T, name, tensor string, shape ...int) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("files have no holes unless they are asked for")
	}
	path := filepath.Join(t.TempDir(), name)
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	size := int64(4)
	for _, d := range shape {
		size *= int64(d)
	}
	if extension(name) == ".npy" {
		_, err = f.Write(npyPrefix(shape))
	} else {
		_, err = safetensors.NewWriter(f, []safetensors.Spec{{Name: tensor, DType: safetensors.F32, Shape: shape}}, nil)
	}
	require.NoError(t, err)
	at, err := f.Seek(0, io.SeekCurrent)
	require.NoError(t, err)
	if err := f.Truncate(at + size); err != nil {
		t.Skipf("no file of %d bytes here: %v", at+size, err)
	}
	return path
}

// frugal checks that do allocates little memory.
func frugal(t *testing.T, do func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "bytes allocated")
}

// A latent of a terabyte in a sparse file is refused before any memory is allocated for
// it.
func TestSparseLatents(t *testing.T) {
	for name, tensor := range map[string]string{"z.npy": "", "z.safetensors": "latent", "z.latent": comfyKey} {
		for _, c := range []struct {
			shape []int
			want  string
		}{
			{[]int{16, 1, 1 << 17, 1 << 17}, "expected at most 131072 frames of 16384x16384 cells"},
			{[]int{16, 1 << 24, 32, 32}, "expected at most 131072 along an axis"},
			{[]int{16, 1 << 16, 512, 512}, map[bool]string{true: "behind the batch", false: "MiB"}[name == "z.latent"]},
			{[]int{1, 16, 1 << 16, 512, 512}, "MiB"},
		} {
			path := sparse(t, name, tensor, c.shape...)
			text := ""
			frugal(t, func() {
				_, err := ReadLatent(path, 16)
				require.ErrorIs(t, err, ErrInput)
				text = err.Error()
			})
			require.Contains(t, text, path)
			require.Contains(t, text, c.want)
			require.Contains(t, text, strings.Trim(fmt.Sprint(c.shape), "[]"))

			f, err := os.Open(path)
			require.NoError(t, err)
			info, err := f.Stat()
			require.NoError(t, err)
			frugal(t, func() {
				_, err := DecodeLatent(f, info.Size(), name, LatentOptions{Channels: 16})
				require.ErrorIs(t, err, ErrInput)
				if _, err = InspectLatent(f, info.Size(), name, LatentOptions{Channels: 16}); err != nil {
					require.ErrorIs(t, err, ErrInput)
				}
			})
			require.NoError(t, f.Close())
		}
	}
	path := sparse(t, "z.npy", "", 16, 1<<16, 512, 512)
	_, err := ReadLatent(path, 16)
	require.ErrorContains(t, err, "needs 1048576 MiB of memory")
	require.ErrorContains(t, err, "cut it into shorter ones")
}

// The order of the axes decides how much additional memory reading needs.
func TestMemoryOfOrders(t *testing.T) {
	for _, c := range []struct {
		shape  []int
		takes  string
		reason string
	}{
		{[]int{16, 1 << 16, 512, 512}, "1048576", "in order already"},
		{[]int{2, 16, 1 << 15, 512, 512}, "1048576", "a batch of clips, too"},
		{[]int{1 << 16, 512, 512, 16}, "2097152", "channels last: all of it once more"},
		{[]int{4, 1 << 14, 512, 512, 16}, "1310720", "a clip once more"},
		{[]int{1 << 16, 16, 512, 512}, "2097152", "pictures: all of it once more"},
	} {
		_, err := ReadLatent(sparse(t, "z.npy", "", c.shape...), 16)
		require.ErrorContains(t, err, "needs "+c.takes+" MiB of memory", c.reason)
	}
}

// Latents from others have a limit below this machine's memory.
func TestSentLatents(t *testing.T) {
	shape := []int{16, 2100, 128, 128}
	path := sparse(t, "z.npy", "", shape...)
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	info, err := f.Stat()
	require.NoError(t, err)
	frugal(t, func() {
		_, err = DecodeLatent(f, info.Size(), "z.npy", LatentOptions{Channels: 16})
		require.ErrorContains(t, err, "media: z.npy: latent of shape [16 2100 128 128] has 2100 MiB, expected at most 2048 MiB here")
	})
}

// A video of a terabyte is refused, or opened without reading it.
func TestSparseVideos(t *testing.T) {
	for _, name := range []string{"v.npy", "v.safetensors"} {
		for _, shape := range [][]int{{3, 1 << 18, 512, 683}, {3, 2, 1 << 18, 1 << 18}, {3, 100_000, 1024, 894}, {3, 340, 1 << 14, 1 << 14}} {
			path := sparse(t, name, framesKey, shape...)
			frugal(t, func() {
				clip, err := Open(context.Background(), path, 3)
				if err != nil {
					require.ErrorIs(t, err, ErrInput)
					require.ErrorContains(t, err, path)
					return
				}
				require.LessOrEqual(t, clip.Frames(), maxFrames)
				require.NoError(t, clip.Close())
			})
		}
	}
}

// No product of dimensions overflows.
func TestBoundsOfAnyShape(t *testing.T) {
	for _, shape := range [][]int{
		{1 << 17, 1 << 14, 1 << 14, 1 << 14, 1 << 14}, {math.MaxInt, math.MaxInt}, {16, 1 << 17, 1 << 14, 1 << 14},
	} {
		require.Error(t, checkLatentBytes(shape, 0, math.MaxInt64), "%v", shape)
	}
	require.NoError(t, checkLatentBytes([]int{16, 21, 90, 160}, 0, math.MaxInt64))
}
