package vae_test

import (
	"context"
	"fmt"
	"image"
	"log"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/engine"
	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tiling"
	"tessera/vae"
)

// checkpoint writes a file that stands for a published one: SeedVR2's layout, few
// channels, random weights.
func checkpoint() (path string, remove func()) {
	dir, err := os.MkdirTemp("", "tessera-example-*")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(dir, "seedvr2.safetensors")
	if err := synthetic.CreateSeedVR2(path, synthetic.SeedVR2Config{Widths: []int{32, 64, 96, 96}, Latent: 4}); err != nil {
		log.Fatal(err)
	}
	return path, func() { os.RemoveAll(dir) }
}

// Plan a decode without a device: the checkpoint's header determines what it needs on an
// adapter.
func ExampleInspect() {
	path, remove := checkpoint()
	defer remove()
	adapter := gpu.Info{Limits: gpu.DefaultLimits, Type: "discrete", Memory: 4 << 30}
	model, err := vae.Inspect(path, adapter, vae.Settings{Precision: vae.F32})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()

	// 21 latent frames of 90 x 160 cells are 81 frames of 720p. Tiles may become smaller
	// than requested to fit the adapter and the budget; here without the machine's
	// memory, which differs between machines.
	plan, err := model.PlanDecode(context.Background(), 21, 90, 160, vae.DecodeOptions{RGBA8: true, Options: vae.Options{
		Tile: tiling.Choice{Tile: tiling.Square(512)}, Overlap: tiling.Square(64), Shrink: true, Budget: 1 << 30, Offload: vae.OffloadOff,
	}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s to %d frames of %v\n", model.Config.Model, plan.Frames, plan.Tiles.Out)
	fmt.Printf("%d x %d tiles of %v, each in %d slices\n", plan.Tiles.Rows, plan.Tiles.Cols, plan.Tile, plan.Slices)
	last := plan.Tiles.Tiles[len(plan.Tiles.Tiles)-1].Out
	fmt.Printf("the last has rows %d to %d, columns %d to %d\n", last.Y0, last.Y1, last.X0, last.X1)
	fmt.Printf("%s on the device, %s outside\n", engine.Bytes(plan.Bytes()), engine.Bytes(plan.Spool))
	// Output:
	// SeedVR2 to 81 frames of 720x1280
	// 2 x 3 tiles of 512x512, each in 20 slices
	// the last has rows 448 to 720, columns 896 to 1280
	// 999.9 MiB on the device, 1.11 GiB outside
}

// The examples below need a device, so they have no Output: without a device they are
// only built. TestExamples runs them on a device and checks what they print, which is the
// same on every device.

// Decode a latent. Frames come in order, each as soon as it is done, so a clip need not
// fit in memory.
func ExampleModel_Decode() {
	path, remove := checkpoint()
	defer remove()
	device, err := gpu.Open(gpu.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	model, err := vae.Open(device, path, vae.Settings{})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()

	z := vae.Latent{Channels: 4, Frames: 2, Height: 2, Width: 3, Data: make([]float32, 4*2*2*3)}
	for frame, err := range model.Decode(context.Background(), z, vae.DecodeOptions{RGBA8: true}) {
		if err != nil {
			log.Fatal(err)
		}
		picture := image.RGBA{Pix: frame.RGBA, Stride: 4 * frame.Width, Rect: image.Rect(0, 0, frame.Width, frame.Height)}
		fmt.Println(frame.Index, picture.Bounds().Size(), picture.Opaque())
	}
}

// fade is a clip from black to white.
type fade struct{ frames, height, width int }

func (f fade) Frames() int               { return f.frames }
func (f fade) Size() (height, width int) { return f.height, f.width }
func (f fade) Channels() int             { return 3 }
func (f fade) ReadFrame(t int, dst []float32) error {
	for i := range dst {
		dst[i] = 2*float32(t)/float32(f.frames-1) - 1
	}
	return nil
}

// Encode a clip of any length and size; it is padded to what the model needs. Decoding
// with Frames, Height and Width set undoes that.
func ExampleModel_Encode() {
	path, remove := checkpoint()
	defer remove()
	device, err := gpu.Open(gpu.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	model, err := vae.Open(device, path, vae.Settings{})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()

	clip := fade{frames: 7, height: 20, width: 30}
	fmt.Println(model.Padded(clip.frames, clip.height, clip.width, false))
	z, err := model.Encode(context.Background(), clip, vae.EncodeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(z.Shape(), len(z.Data))
}

func TestExamples(t *testing.T) {
	gputest.Open(t)
	for _, c := range []struct {
		name    string
		example func()
		want    string
	}{
		{"decode", ExampleModel_Decode, "0 (24,16) true\n1 (24,16) true\n2 (24,16) true\n3 (24,16) true\n4 (24,16) true\n"},
		{"encode", ExampleModel_Encode, "9 24 32\n[4 3 3 4] 144\n"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, printed(t, c.example)) })
	}
}

// printed returns what f prints.
func printed(t *testing.T, f func()) string {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer out.Close()
	defer func(stdout *os.File) { os.Stdout = stdout }(os.Stdout)
	os.Stdout = out
	f()
	text, err := os.ReadFile(out.Name())
	require.NoError(t, err)
	return string(text)
}
