//go:build !js

package media_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"tessera/latent"
	"tessera/media"
)

// temporary creates a folder for an example. The caller removes it.
func temporary() string {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

// Write a clip of three frames as a folder of PNG, and read it again.
func ExampleCreate() {
	dir := temporary()
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "clip") // no extension: a folder
	sink, err := media.Create(context.Background(), path, media.Format{Height: 2, Width: 4, Frames: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer sink.Abort() // does nothing after Close
	for t := range 3 {
		frame := make([]float32, 2*4*3) // [H,W,C] in [-1,1]
		for i := range frame {
			frame[i] = float32(t) - 1 // black, gray, white
		}
		if err := sink.WriteFrame(frame); err != nil {
			log.Fatal(err)
		}
	}
	if err := sink.Close(); err != nil {
		log.Fatal(err)
	}

	clip, err := media.Open(context.Background(), path, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer clip.Close()
	h, w := clip.Size()
	fmt.Printf("%d frames of [%d,%d,%d]\n", clip.Frames(), h, w, clip.Channels())
	frame := make([]float32, h*w*clip.Channels())
	for t := range clip.Frames() {
		if err := clip.ReadFrame(t, frame); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("frame %d begins with %.2f\n", t, frame[0])
	}
	// Output:
	// 3 frames of [2,4,3]
	// frame 0 begins with -1.00
	// frame 1 begins with 0.00
	// frame 2 begins with 1.00
}

// Write a latent with the facts about the clip that decoding needs, and read it again.
func ExampleWriteLatent() {
	dir := temporary()
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "latent.safetensors")
	z := latent.Latent{Channels: 16, Frames: 2, Height: 3, Width: 5, Data: make([]float32, 16*2*3*5)}
	z.Meta = latent.Original{Frames: 5, Height: 24, Width: 37}.Meta(latent.KindLatent)
	if err := media.WriteLatent(path, z); err != nil {
		log.Fatal(err)
	}

	z, err := media.ReadLatent(path, 16)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("latent of shape", z.Shape())
	// A cell has 8 pixels along a side, and a latent frame after the first stands for 4
	// frames.
	o, warnings, err := media.Original(path, z, 8, 8, 4, 0, 0)
	fmt.Printf("of %d frames of %d x %d, %v, %v\n", o.Frames, o.Width, o.Height, warnings, err)
	_, err = media.ReadLatent(path, 48)
	fmt.Println(errors.Is(err, media.ErrInput))
	// Output:
	// latent of shape [16 2 3 5]
	// of 5 frames of 37 x 24, [], <nil>
	// true
}

// Measure how close a decoded frame is to its original: an error of 0.2 in every value.
func ExampleQuality() {
	original, decoded := make([]float32, 16*16*3), make([]float32, 16*16*3)
	for i := range decoded {
		decoded[i] = 0.2
	}
	q := media.NewQuality(16, 16, 3)
	q.Add(original, decoded)
	fmt.Printf("PSNR %.1f dB\n", q.Overall().PSNR)
	// Output:
	// PSNR 20.0 dB
}
