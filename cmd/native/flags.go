package main

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"tessera/gpu"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

// groups are the headings that flags are listed under.
var groups = []kong.Group{
	{Key: "device", Title: "Device:"},
	{Key: "tiles", Title: "Tiles and memory:"},
}

// modelFlag names the checkpoint.
type modelFlag struct {
	Model string `short:"m" required:"" placeholder:"MODEL" help:"Checkpoint, .safetensors."`
}

// deviceFlags choose what to run on.
type deviceFlags struct {
	Backend   string      `group:"device" enum:"auto,vulkan,d3d12,metal" default:"auto" help:"Graphics API: auto, vulkan, d3d12 or metal."`
	Adapter   adapterFlag `group:"device" default:"best" placeholder:"N" help:"Adapter by its number in 'tessera devices'; default the best."`
	Dawn      string      `group:"device" placeholder:"FILE" help:"Dawn library; default: searched beside the program, in the user's cache and the system."`
	Precision string      `group:"device" enum:"auto,f32,f16" default:"auto" help:"Storage of activations: auto (f16 on a GPU that has it), f32 or f16."`
}

func (f deviceFlags) options() gpu.Options {
	return gpu.Options{Backend: f.Backend, Adapter: int(f.Adapter), Library: f.Dawn}
}

// tileFlags choose how the work is cut.
type tileFlags struct {
	Tile    *tileFlag   `group:"tiles" placeholder:"TILE" help:"Tile in pixels: off, auto (the largest that fits the memory), N or HxW; default 512, or less where that doesn't fit."`
	Overlap overlapFlag `group:"tiles" default:"64" placeholder:"N" help:"Overlap of neighbouring tiles in pixels, N or HxW; default 64."`
	Memory  bytesFlag   `group:"tiles" placeholder:"SIZE" help:"Device memory to use at most, such as 6GiB; default three quarters of a graphics card's, half of what is shared with the rest of the machine."`
	Chunk   int         `group:"tiles" default:"1" placeholder:"N" help:"Latent frames worked on at once; changes speed and memory, not the result."`
}

// Validate refuses what no clip can be cut into.
func (f tileFlags) Validate() error {
	if f.Chunk < 1 {
		return fmt.Errorf("--chunk=%d: expected at least 1", f.Chunk)
	}
	_, err := tiling.Decode(1, 1, tiling.Options{Tile: f.choice().Tile, Overlap: tiling.Size(f.Overlap)})
	return err
}

// choice is the tile asked for, or the default.
func (f tileFlags) choice() tiling.Choice {
	if f.Tile == nil {
		return tiling.Choice{Tile: tiling.Square(tiling.DefaultTile)}
	}
	return tiling.Choice(*f.Tile)
}

func (f tileFlags) options() vae.Options {
	return vae.Options{
		Tile: f.choice(), Shrink: f.Tile == nil, Overlap: tiling.Size(f.Overlap),
		Memory: int64(f.Memory), Chunk: f.Chunk,
	}
}

// adapterFlag is an adapter's number, -1 for the best.
type adapterFlag int

// UnmarshalText reads "best" or a number.
func (f *adapterFlag) UnmarshalText(text []byte) error {
	if string(text) == "best" {
		*f = -1
		return nil
	}
	n, err := strconv.ParseUint(string(text), 10, 16)
	if err != nil {
		return fmt.Errorf("%q, expected best or a number from `tessera devices`", text)
	}
	*f = adapterFlag(n)
	return nil
}

type tileFlag tiling.Choice

// UnmarshalText reads off, auto, N or HxW.
func (f *tileFlag) UnmarshalText(text []byte) error {
	c, err := tiling.ParseTile(string(text))
	*f = tileFlag(c)
	return err
}

type overlapFlag tiling.Size

// UnmarshalText reads N or HxW.
func (f *overlapFlag) UnmarshalText(text []byte) error {
	s, err := tiling.ParseOverlap(string(text))
	*f = overlapFlag(s)
	return err
}

// rateFlag is a frame rate.
type rateFlag media.Rational

// UnmarshalText reads 25, 23.976 or 30000/1001.
func (f *rateFlag) UnmarshalText(text []byte) error {
	r, err := media.ParseRational(string(text))
	*f = rateFlag(r)
	return err
}

// bytesFlag is a size in bytes.
type bytesFlag int64

// UnmarshalText reads "6GiB", "6G", "6GB", "512M", "1.5GiB" or bytes. GB is
// 10^9, G and GiB are 2^30.
func (f *bytesFlag) UnmarshalText(text []byte) error {
	s := string(text)
	number := strings.TrimRight(s, "KMGTiBkmgtb ")
	unit := strings.ToLower(strings.TrimSpace(s[len(number):]))
	scale, known := map[string]float64{
		"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
		"k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40,
		"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40,
	}[unit]
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if !known || err != nil || !(v*scale >= 1) || v*scale > math.MaxInt64/2 {
		return fmt.Errorf("%q, expected a size such as 6GiB, 512MiB or 6000000000", s)
	}
	*f = bytesFlag(v * scale)
	return nil
}

// scaleFlag chooses the numbers that latents hold.
type scaleFlag struct {
	Scale string `enum:"pipeline,none,default" default:"default" placeholder:"SCALE" help:"Numbers of the latent: pipeline (as diffusion pipelines exchange it) or none (the model's own); default pipeline."`
}

// or is the scale asked for, or the default.
func (f scaleFlag) or(standard string) string {
	if f.Scale == "default" {
		return cmp.Or(standard, media.ScalePipeline)
	}
	return f.Scale
}
