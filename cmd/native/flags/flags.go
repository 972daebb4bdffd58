// Package flags has the flags that commands share: parts of kong's structs, each with its
// help and its meaning.
//
// A command embeds the parts that it needs:
//
//	type infoCmd struct {
//		flags.Checkpoint
//		flags.Device
//		...
//	}
//
// and calls their methods: Begin checks its files, Chosen and Settings say what to open,
// Choices and Choose return what the user chose for the job. UnmarshalText or Validate
// refuses an invalid value and says what was expected.
package flags

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"

	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/gpu"
	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

// Groups are the headings in the list of flags.
var Groups = []kong.Group{
	{Key: "server", Title: "Server"},
	{Key: "input", Title: "Input"},
	{Key: "output", Title: "Output and video"},
	{Key: "latents", Title: "Latents"},
	{Key: "tiles", Title: "Tiles and memory"},
	{Key: "device", Title: "Device"},
	{Key: "every", Title: "Every command"},
}

// Checkpoint names the checkpoint.
type Checkpoint struct {
	Model string `group:"input" everyday:"" short:"m" required:"" type:"checkpoint" placeholder:"MODEL" env:"TESSERA_MODEL" help:"Checkpoint: .safetensors, .pth or .index.json, or the name of a pulled one." more:"Models: SeedVR2, Wan 2.1, Wan 2.2, Qwen-Image, Qwen-Image 2.1, HunyuanVideo, HunyuanVideo 1.5, HunyuanImage 2.1, LTX-2, Mochi 1, CogVideoX, Cosmos 1.0, Stable Diffusion, SDXL, SD 3, FLUX.1, FLUX.2 and tiny autoencoders (TAESD, TAEHV), alone or inside a whole checkpoint."`
}

// Forcing loads a checkpoint that would be refused.
type Forcing struct {
	Force bool `group:"input" help:"Load a checkpoint even if its weights look damaged: all zero, or every picture would be flat."`
}

// Clobbering decides whether existing outputs are replaced.
type Clobbering struct {
	NoClobber bool `group:"output" help:"Fail if the output exists; by default it is replaced. Inputs are never replaced."`
}

// Begin checks the files; every command calls it before it opens anything.
func (f Clobbering) Begin(out files.Outputs, in files.Inputs) error {
	return files.Begin(f.NoClobber, out, in)
}

// Vacant refuses existing outputs, for --no-clobber. Commands call it again when the work
// is done.
func (f Clobbering) Vacant(out files.Outputs) error {
	if !f.NoClobber {
		return nil
	}
	return out.Vacant()
}

// ShaderCache disables the cache of compiled shaders.
type ShaderCache struct {
	NoCache bool `group:"device" env:"TESSERA_NO_CACHE" help:"Disable the shader cache in the user's cache folder; the driver may have its own."`
}

// Device chooses the device.
type Device struct {
	Backend   string   `group:"device" enum:"auto,vulkan,d3d12,metal" default:"auto" env:"TESSERA_BACKEND" help:"Graphics API: auto, vulkan, d3d12 or metal."`
	Adapter   Adapters `group:"device" default:"best" placeholder:"N" help:"Adapter by its number in 'tessera devices'; default the best. With several (0,1) or all, the adapters share the clips of a batch, or the tiles of a job; the first one combines tiles."`
	Dawn      string   `group:"device" placeholder:"FILE" help:"Dawn library; default: searched beside the program, in the user's cache and in the system."`
	Precision string   `group:"device" everyday:"" enum:"auto,f32,f16" default:"auto" help:"Storage of activations: auto (f16 if the GPU supports it), f32 or f16."`
	ShaderCache
	Tuning
	Shortcuts
}

// Adapters are adapter numbers; the first adapter assembles tiles. An empty list is the
// best adapter.
type Adapters struct {
	All  bool
	List []int
}

// UnmarshalText reads "best", "all" or numbers separated by commas.
func (f *Adapters) UnmarshalText(text []byte) error {
	*f = Adapters{All: string(text) == "all"}
	if f.All || string(text) == "best" {
		return nil
	}
	for number := range strings.SplitSeq(string(text), ",") {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil {
			return fmt.Errorf("%q, expected best, all or numbers from `tessera devices` such as 0,1", text)
		}
		f.List = append(f.List, int(n))
	}
	return nil
}

// First returns the adapter to open, -1 for the best.
func (f Adapters) First() int {
	if len(f.List) == 0 {
		return -1
	}
	return f.List[0]
}

// Others returns the other adapters.
func (f Adapters) Others() []int { return f.List[min(1, len(f.List)):] }

// Tuning turns off the trials of kernels.
type Tuning struct {
	NoTune bool `group:"device" env:"TESSERA_NO_TUNE" help:"Use the default kernels instead of those that short trials found fastest on this adapter: the same numbers on every run."`
}

// Shortcuts names the model if its tensors do not, and turns shortcuts in the arithmetic
// on or off.
type Shortcuts struct {
	As       string `group:"device" placeholder:"MODEL" help:"Model of an AutoencoderKL checkpoint, which sets the scale of latents: ${kinds}. Default: read from config.json, the checkpoint and its name."`
	NoFold   bool   `group:"device" help:"Do not fold upsampling layers into the following convolutions, and do not sum the taps of repeated frames: slower, for comparisons."`
	Winograd string `group:"device" enum:"auto,on,off" default:"auto" help:"Compute 3x3x3 convolutions with fewer multiplications (Winograd, along time or rows): auto (where it is known to be faster), on or off."`
}

// KernelSettings returns the settings of kernels.
func (f Shortcuts) KernelSettings() vae.KernelSettings {
	k := vae.KernelSettings{NoFold: f.NoFold}
	if f.Winograd != "auto" {
		on := f.Winograd == "on"
		k.Winograd = &on
	}
	return k
}

// GPU returns the options for opening the adapter.
func (f Device) GPU() gpu.Options {
	return gpu.Options{Backend: f.Backend, Adapter: f.Adapter.First(), Library: f.Dawn, NoCache: f.NoCache}
}

// Chosen returns the device to open.
func (f Device) Chosen() machine.Choice {
	return machine.Choice{Options: f.GPU(), All: f.Adapter.All, Others: f.Adapter.Others(), NoTune: f.NoTune}
}

// Settings returns the settings for opening a checkpoint.
func (f Device) Settings(force Forcing) vae.Settings {
	return vae.Settings{Precision: vae.Precision(f.Precision), As: f.As, Force: force.Force, Kernels: f.KernelSettings()}
}

// Tiles chooses how the work is cut.
type Tiles struct {
	Tiling  string   `group:"tiles" enum:"feather,exact,diffusers,default" default:"default" placeholder:"TILING" help:"How tiles are combined: exact (the result of one tile), feather (blended) or diffusers (blended as in diffusers); default exact if the model supports it and it fits, else feather."`
	Tile    *Tile    `group:"tiles" everyday:"" placeholder:"TILE" help:"Tile size in pixels: off, auto (the largest that fits), N or HxW; default 512, or less to fit." more:"The default for --tiling=diffusers is 256."`
	Overlap *Overlap `group:"tiles" placeholder:"N" help:"Overlap of neighbouring tiles in pixels, N or HxW; default 64, or half of a tile under 128. Exact tiles have a halo instead."`
	Memory  Bytes    `group:"tiles" everyday:"" placeholder:"SIZE" help:"Limit of device memory, such as 6GiB; default 3/4 of a card's memory, 1/2 if the host shares it."`
	Host    Bytes    `name:"host-memory" group:"tiles" placeholder:"SIZE" help:"Limit of host memory for --offload, such as 20GiB; default 3/4 of free memory, 2GiB if unknown."`
	Format  string   `name:"memory-format" group:"tiles" enum:"f16,i8" default:"f16" help:"Storage of causal memory, the frames that convolutions keep for later frames: f16 (f32 with --precision=f32) or i8 (8 bits with scales; pictures change slightly)."`
	Offload string   `group:"tiles" enum:"auto,on,off" default:"auto" help:"Keep causal memory, then weights, in host memory: auto (if a graphics card's memory is too small), on or off. The result is the same."`
	Chunk   Chunk    `group:"tiles" placeholder:"N" help:"Latent frames per slice, N or auto: 4 or 2 if the job then uses at most a quarter of --memory, else 1; default auto. Changes speed and memory, and the result only with --memory-format=i8."`
}

// Validate refuses tiles that no clip can have.
func (f Tiles) Validate() error {
	switch {
	case f.Overlap != nil && f.Tiling == string(vae.Exact):
		return errors.New("--overlap with --tiling=exact: exact tiles have a halo and no overlap, expected one of the two")
	case f.Overlap != nil && f.Tile != nil && tiling.Choice(*f.Tile) == (tiling.Choice{}):
		return errors.New("--overlap with --tile=off: a single tile has no overlap, expected one of the two")
	}
	o, err := f.Choices().Options()
	if err != nil {
		return err
	}
	if o.Tiling == vae.Exact || o.Tiling == "" && f.Overlap == nil {
		return nil // the model decides their size
	}
	_, err = tiling.Decode(1, 1, tiling.Options{Tile: o.Tile.Tile, Overlap: o.Overlap})
	return err
}

// Choices returns the flags as choices of a job.
func (f Tiles) Choices() job.Choices {
	c := job.Choices{Tile: (*tiling.Choice)(f.Tile), Overlap: (*tiling.Size)(f.Overlap), Budget: int64(f.Memory), Host: int64(f.Host), Chunk: int(f.Chunk)}
	if f.Format == "i8" {
		c.MemoryFormat = vae.MemoryI8
	}
	if f.Offload != "auto" {
		c.Offload = vae.Offload(f.Offload)
	}
	if f.Tiling != "default" {
		c.Tiling = vae.Tiling(f.Tiling)
	}
	return c
}

// Pictures treats frames as separate pictures.
type Pictures struct {
	Independent *bool `group:"latents" name:"independent-frames" negatable:"" help:"Treat each frame as a separate picture with its own latent frame; default for Qwen-Image and for latents encoded this way."`
}

// LatentLayout says how a latent is laid out in its file.
type LatentLayout struct {
	Layout Layout  `group:"latents" placeholder:"ORDER" help:"Order of the latent's dimensions, such as CFHW, FCHW, BCFHW or BFCHW: B batch, C channels (M for moments), F frames, H and W; default: found from the number of channels."`
	Size   *Pixels `group:"latents" placeholder:"WxH" help:"Size in pixels, width x height, of packed latents [B,N,4C] or [N,4C] from pipelines of Qwen-Image, FLUX.1 and FLUX.2."`
}

// Choose adds the flags to a job's choices.
func (f LatentLayout) Choose(w *job.Choices) {
	w.Layout = string(f.Layout)
	if f.Size != nil {
		w.Packed = tiling.Size(*f.Size)
	}
}

// Layout is an order of dimensions, "" if none is given.
type Layout string

// UnmarshalText reads CFHW, bcthw and so on.
func (f *Layout) UnmarshalText(text []byte) error {
	layout, err := media.ParseLayout(string(text))
	*f = Layout(layout)
	return err
}

// Adapter is an adapter's number, -1 for the best.
type Adapter int

// UnmarshalText reads "best" or a number.
func (f *Adapter) UnmarshalText(text []byte) error {
	if string(text) == "best" {
		*f = -1
		return nil
	}
	n, err := strconv.ParseUint(string(text), 10, 16)
	if err != nil {
		return fmt.Errorf("%q, expected best or a number from `tessera devices`", text)
	}
	*f = Adapter(n)
	return nil
}

type Tile tiling.Choice

// UnmarshalText reads off, auto, N or HxW.
func (f *Tile) UnmarshalText(text []byte) error {
	c, err := tiling.ParseTile(string(text))
	*f = Tile(c)
	return err
}

// Chunk is the number of latent frames in a slice; 0 lets the budget decide.
type Chunk int

// UnmarshalText reads auto or N.
func (f *Chunk) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*f = 0
		return nil
	}
	n, err := strconv.ParseUint(string(text), 10, 31)
	if err != nil || n == 0 {
		return fmt.Errorf("%q, expected auto or a number of latent frames, at least 1", text)
	}
	*f = Chunk(n)
	return nil
}

type Overlap tiling.Size

// UnmarshalText reads N or HxW.
func (f *Overlap) UnmarshalText(text []byte) error {
	s, err := tiling.ParseOverlap(string(text))
	*f = Overlap(s)
	return err
}

// Rate is a frame rate.
type Rate latent.Rational

// UnmarshalText reads 25, 23.976 or 30000/1001.
func (f *Rate) UnmarshalText(text []byte) error {
	r, err := latent.ParseRational(string(text))
	*f = Rate(r)
	return err
}

// Bytes is a size in bytes.
type Bytes int64

// UnmarshalText reads "6GiB", "6G", "6GB", "512M", "1.5GiB" or bytes. GB is
// 10^9, G and GiB are 2^30.
func (f *Bytes) UnmarshalText(text []byte) error {
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
	if unit == "" && v < 1<<20 {
		return fmt.Errorf("%q: bytes without a unit, expected a size such as 6GiB or 512MiB", s)
	}
	*f = Bytes(v * scale)
	return nil
}

// Scaling chooses the scale of latents' numbers.
type Scaling struct {
	Scale string `group:"latents" everyday:"" enum:"pipeline,none,default" default:"default" placeholder:"SCALE" help:"Scale of the latent: pipeline (as diffusion pipelines use) or none (the VAE's own numbers)." more:"Default pipeline; for ComfyUI's .latent files none, except SeedVR2 and FLUX.2."`
}

// Choice returns the requested scale; "" for the default.
func (f Scaling) Choice() string {
	if f.Scale == "default" {
		return ""
	}
	return f.Scale
}

// Sampling chooses how a latent is drawn from its distribution.
type Sampling struct {
	Sample bool    `group:"latents" xor:"numbers" help:"Draw the latent from its distribution; default: the mean."`
	Seed   *uint64 `group:"latents" placeholder:"N" help:"Seed of --sample; the same on every device. Default 0."`
}

// Validate refuses a seed without a sample.
func (f Sampling) Validate() error {
	if f.Seed != nil && !f.Sample {
		return fmt.Errorf("--seed=%d without --sample, expected both: the mean has no seed", *f.Seed)
	}
	return nil
}

// Choose adds the flags to a job's choices.
func (f Sampling) Choose(w *job.Choices) {
	w.Sample = f.Sample
	if f.Seed != nil {
		w.Seed = *f.Seed
	}
}

// The longest clip and the longest side of a frame that flags accept.
const (
	mostFrames = 1 << 20
	mostSide   = 1 << 15
)

// Frames is a number of frames.
type Frames int

// UnmarshalText reads 1 to mostFrames.
func (f *Frames) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 10, 31)
	if err != nil || n < 1 || n > mostFrames {
		return fmt.Errorf("%q, expected 1 to %d frames", text, mostFrames)
	}
	*f = Frames(n)
	return nil
}

// Pixels is the size of a video, written as usual for videos: width x height.
type Pixels tiling.Size

func (f Pixels) String() string { return fmt.Sprintf("%dx%d", f.W, f.H) }

// UnmarshalText reads WxH.
func (f *Pixels) UnmarshalText(text []byte) error {
	width, height, _ := strings.Cut(string(text), "x")
	w, err := strconv.ParseUint(width, 10, 31)
	h, err2 := strconv.ParseUint(height, 10, 31)
	if cmp.Or(err, err2) != nil || min(w, h) < 1 || max(w, h) > mostSide {
		return fmt.Errorf("%q, expected a width and a height of 1 to %d pixels, such as 1280x720", text, mostSide)
	}
	*f = Pixels{H: int(h), W: int(w)}
	return nil
}
