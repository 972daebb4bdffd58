// Command tiled shows the effect of the reference's tiles on a photograph: decoded in
// one piece, decoded in blended tiles, and the amplified difference.
// docs/reference/accuracy.md has the command.
package main

import (
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"log"
	"math"
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"tessera/gpu"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

func main() {
	log.SetFlags(0)
	model := flag.String("m", "assets/tiny-seedvr2.safetensors", "checkpoint")
	tile := flag.Int("tile", 128, "side of tiles in pixels")
	overlap := flag.Int("overlap", 32, "overlap of tiles in pixels")
	gain := flag.Int("gain", 8, "by which the difference is amplified")
	out := flag.String("o", "tiled.png", "picture to write")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: tiled [flags] PHOTOGRAPH")
	}
	if err := run(*model, flag.Arg(0), *tile, *overlap, *gain, *out); err != nil {
		log.Fatal(err)
	}
}

func run(model, photograph string, tile, overlap, gain int, out string) error {
	ctx := context.Background()
	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	if err != nil {
		return err
	}
	defer dev.Close()
	m, err := vae.Open(dev, model, vae.Settings{Precision: vae.F32})
	if err != nil {
		return err
	}
	defer m.Close()
	clip, err := media.Open(ctx, photograph, m.Config.Channels)
	if err != nil {
		return err
	}
	defer clip.Close()
	z, err := m.Encode(ctx, clip, vae.EncodeOptions{})
	if err != nil {
		return err
	}
	h, w := clip.Size()
	whole, err := decode(ctx, m, z, h, w, vae.Options{})
	if err != nil {
		return err
	}
	tiled, err := decode(ctx, m, z, h, w, vae.Options{Tile: tiling.Choice{Tile: tiling.Square(tile)}, Overlap: tiling.Square(overlap)})
	if err != nil {
		return err
	}
	original := make([]float32, len(whole))
	if err := clip.ReadFrame(0, original); err != nil {
		return err
	}
	psnr, most := compare(whole, tiled)
	inOne, _ := compare(original, whole)
	inTiles, _ := compare(original, tiled)
	fmt.Printf("%s: %dx%d in tiles of %d, overlap %d: PSNR %.2f dB, at most %.0f of 255 apart; to the photograph %.2f dB in one piece, %.2f dB in tiles\n",
		dev.Info().Name, w, h, tile, overlap, psnr, most, inOne, inTiles)
	return write(out, h, w, []column{
		{"one piece: exact", func(i int) float32 { return whole[i] }},
		{fmt.Sprintf("tiles of %d, overlap %d", tile, overlap), func(i int) float32 { return tiled[i] }},
		{fmt.Sprintf("difference x%d, %.1f dB", gain, psnr), func(i int) float32 { return float32(gain) * (tiled[i] - whole[i]) }},
	})
}

// decode returns a picture's pixels [h, w, 3].
func decode(ctx context.Context, m *vae.Model, z vae.Latent, h, w int, o vae.Options) (pixels []float32, err error) {
	for f, err := range m.Decode(ctx, z, vae.DecodeOptions{Options: o, Frames: 1, Height: h, Width: w}) {
		if err != nil {
			return nil, err
		}
		for _, v := range f.Pixels {
			pixels = append(pixels, min(max(v, -1), 1))
		}
	}
	return pixels, nil
}

// compare returns the PSNR between pictures, and the largest difference in 8-bit codes.
func compare(a, b []float32) (psnr, most float64) {
	var squares float64
	for i := range a {
		d := float64(a[i] - b[i])
		squares += d * d
		most = max(most, math.Abs(d)*255/2)
	}
	return 10 * math.Log10(4*float64(len(a))/squares), most
}

// column is a picture with its title.
type column struct {
	title string
	at    func(i int) float32 // in [-1, 1]
}

// write draws the columns side by side.
func write(path string, h, w int, columns []column) error {
	const margin, line = 8, 18
	img := image.NewRGBA(image.Rect(0, 0, margin+len(columns)*(w+margin), h+line+2*margin))
	draw.Draw(img, img.Bounds(), image.NewUniform(color.Gray{Y: 24}), image.Point{}, draw.Src)
	for n, c := range columns {
		left := margin + n*(w+margin)
		text := font.Drawer{Dst: img, Src: image.White, Face: basicfont.Face7x13, Dot: fixed.P(left, margin+12)}
		text.DrawString(c.title)
		for i := range h * w {
			var p [3]uint8
			for k := range p {
				p[k] = uint8((min(max(c.at(3*i+k), -1), 1)+1)*127.5 + 0.5)
			}
			img.SetRGBA(left+i%w, margin+line+i/w, color.RGBA{p[0], p[1], p[2], 255})
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := png.Encode(f, img); err != nil {
		return err
	}
	return f.Close()
}
