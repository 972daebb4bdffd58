package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/pth/pthtest"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/media"
	"tessera/vae"
)

func readCheckpoint(path string) error {
	m, err := vae.Inspect(path, gpu.Info{Limits: gpu.DefaultLimits}, vae.Settings{})
	if err != nil {
		return err
	}
	return m.Close()
}

func readLatent(path string) error {
	_, err := media.ReadLatent(path, 16)
	return err
}

func readVideo(path string) error {
	clip, err := media.Open(context.Background(), path, 3)
	if err != nil {
		return err
	}
	defer clip.Close()
	h, w := clip.Size()
	if h*w > 1<<20 {
		return nil // allowed, but too large for a test to read
	}
	frame := make([]float32, 3*h*w)
	for t := range min(clip.Frames(), 4) {
		if err := clip.ReadFrame(t, frame); err != nil {
			return err
		}
	}
	return nil
}

// Files with random broken bytes are refused by name, or read: no panic, no unlimited
// memory, no leftovers.
func TestBrokenAtRandomBytes(t *testing.T) {
	dir := t.TempDir()
	torch, latentTorch := filepath.Join(dir, "m.pth"), filepath.Join(dir, "z.pt")
	f, err := safetensors.Open(tiny)
	require.NoError(t, err)
	require.NoError(t, pthtest.Convert(torch, f, pthtest.Options{}))
	require.NoError(t, f.Close())
	z := latentFile(t, 16, 2, 3, 4)
	require.NoError(t, pthtest.Create(latentTorch, []pthtest.Tensor{
		{Name: "latent", DType: safetensors.F32, Shape: []int{16, 1, 1, 1}, Data: pthtest.Bytes(make([]byte, 64))},
	}, pthtest.Options{}))
	l, err := media.ReadLatent(z, 16)
	require.NoError(t, err)
	paths := map[string]func(string) error{tiny: readCheckpoint, torch: readCheckpoint, z: readLatent, latentTorch: readLatent,
		"../../media/testdata/latents/named.npz": readLatent}
	for _, name := range []string{"z.npy", "z.latent"} {
		path := filepath.Join(dir, name)
		require.NoError(t, media.WriteLatent(path, l))
		paths[path] = readLatent
	}
	for _, name := range []string{"v.y4m", "v.png", "v.npy", "v.safetensors"} {
		path := filepath.Join(dir, name)
		sink, err := media.Create(context.Background(), path, media.Format{Frames: 1, Height: 12, Width: 18})
		require.NoError(t, err)
		require.NoError(t, sink.WriteFrame(make([]float32, 3*12*18)))
		require.NoError(t, sink.Close())
		paths[path] = readVideo
	}
	for _, path := range pictures(t, dir) {
		paths[path] = readPictures(t, path)
	}
	for path, read := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) { breakAtRandom(t, path, read) })
	}
}

// pictures writes a JPEG with an orientation and, with ffmpeg, WebPs of both kinds and
// with transparency.
func pictures(t *testing.T, dir string) []string {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, 18, 12))
	for i := range img.Pix {
		img.Pix[i] = byte(i * i)
	}
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, nil))
	exif := "II*\x00\x08\x00\x00\x00\x01\x00\x12\x01\x03\x00\x01\x00\x00\x00\x06\x00\x00\x00"
	segment := func(kind, data string) string {
		return "\xff" + kind + string(binary.BigEndian.AppendUint16(nil, uint16(2+len(data)))) + data
	}
	paths := []string{filepath.Join(dir, "v.jpg")}
	write(t, paths[0], []byte("\xff\xd8"+segment("\xe1", "Exif\x00\x00"+exif)+b.String()[2:]))
	if !haveFFmpeg() {
		return paths
	}
	for name, how := range map[string]string{
		"lossy.webp": "-c:v libwebp -pix_fmt yuv420p", "lossless.webp": "-c:v libwebp -pix_fmt bgra -lossless 1",
		"alpha.webp": "-c:v libwebp -pix_fmt yuva420p",
	} {
		path := filepath.Join(dir, name)
		args := append(strings.Fields("-v error -f lavfi -i testsrc2=size=18x12,format=yuva420p,colorchannelmixer=aa=0.5 -frames:v 1 "+how), path)
		out, err := exec.Command("ffmpeg", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		paths = append(paths, path)
	}
	return paths
}

// readPictures reads a picture alone, and as the second of a folder whose first is the
// picture at whole.
func readPictures(t *testing.T, whole string) func(string) error {
	first, err := os.ReadFile(whole)
	require.NoError(t, err)
	return func(path string) error {
		if err := readVideo(path); err != nil {
			return err
		}
		folder := path + ".frames"
		require.NoError(t, os.Mkdir(folder, 0o777))
		defer os.RemoveAll(folder)
		write(t, filepath.Join(folder, "a"+filepath.Ext(path)), first)
		second, err := os.ReadFile(path)
		require.NoError(t, err)
		write(t, filepath.Join(folder, filepath.Base(path)), second)
		return readVideo(folder)
	}
}

func breakAtRandom(t *testing.T, path string, read func(string) error) {
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	_ = read(path) // so that one-time setup is done
	dir := t.TempDir()
	refused := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		b := slices.Clone(whole)
		head := min(len(b), 2048)
		for range 1 + r.IntN(8) {
			at := r.IntN(len(b))
			if r.IntN(4) > 0 {
				at = r.IntN(head) // where the words are
			}
			b[at] = byte(r.Uint32())
		}
		if seed%4 == 0 {
			b = b[:r.IntN(len(b))]
		}
		broken := filepath.Join(dir, filepath.Base(path))
		write(t, broken, b)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read(broken)
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20+8*len(b)), "bytes allocated, seed %d", seed)
		if picture := []string{".jpg", ".webp", ".png"}; seed%4 == 0 && slices.Contains(picture, filepath.Ext(path)) {
			assert.Error(t, err, "seed %d: cut at %d of %d", seed, len(b), len(whole))
		}
		if err != nil {
			refused++
			assert.ErrorContains(t, err, filepath.Base(path), "seed %d", seed)
			assert.True(t, errors.Is(err, media.ErrInput) || errors.Is(err, vae.ErrBadModel), "seed %d: %v", seed, err)
			assert.Less(t, len(err.Error()), 16<<10)
		}
		require.NoError(t, os.Remove(broken))
	}
	isEmpty(t, dir)
	t.Logf("%d of 200 refused, %d read", refused, 200-refused)
}
