package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/engine"
	"tessera/format"
	"tessera/format/file"
	"tessera/format/quote"
	"tessera/gpu"
	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

type infoCmd struct {
	File string `arg:"" type:"checkpoint" help:"Checkpoint, latent or video; - reads standard input."`
	flags.Forcing
	flags.Device
}

// Help is shown below the flags.
func (infoCmd) Help() string {
	return `For a checkpoint, info plans the requirements for the default adapter without running anything; without an adapter, for WebGPU's default limits. For a video it counts packets without decoding pictures; "about" means that the number of frames is an estimate.

    tessera info ema_vae_fp16.safetensors
    tessera info Wan2.1_VAE.pth`
}

func (c *infoCmd) Run(a *app) (err error) {
	if c.File, err = a.streams.Input(a.ctx, c.File); err != nil {
		return err
	}
	f, err := interrupt.Await(a.ctx, func() (format.File, error) { return format.Open(c.File) })
	if err != nil {
		if told := missing(c.File, err); told != err {
			return told
		}
		return cmp.Or(a.ctx.Err(), a.noTensors(c.File, err))
	}
	defer machine.CloseFile(a.ctx, f)
	settings := c.Settings(c.Forcing)
	config, err := a.machines.CheckFile(a.ctx, f, settings)
	if err != nil {
		return cmp.Or(a.ctx.Err(), a.noModel(f, err))
	}
	adapter, err := c.adapter(a)
	if err != nil {
		return err
	}
	m, err := vae.InspectFile(f, adapter, settings)
	if err != nil {
		return err
	}
	m.Config.Print = config.Print
	precision := vae.F16
	if m.Elem.Bytes() == 4 {
		precision = vae.F32
	}
	return a.model(m, adapter, func(p *vae.Plan) time.Duration {
		if adapter.Backend == "" {
			return 0 // no adapter exists here
		}
		return machine.Duration(a.ctx, c.GPU(), adapter, m, precision, "decode", p)
	})
}

// noTensors describes a file that cannot be opened as tensors, for the reason err: it may
// be a video, or a latent in .npy or .npz.
func (a *app) noTensors(path string, err error) error {
	ext := strings.ToLower(filepath.Ext(path))
	if ext == ".bin" { // it may be a cache of several latents
		if l, err := interrupt.Await(a.ctx, func() (latent.Latent, error) { return inspectArray(path) }); err == nil {
			return a.latent(path, l)
		}
	}
	if slices.Contains([]string{".pth", ".pt", ".ckpt", ".bin", ".safetensors", ".latent", ".json"}, ext) {
		return job.Mark(err, job.ErrInput)
	}
	clip, clipErr := media.Inspect(a.ctx, path)
	if clipErr == nil {
		return a.video(path, clip)
	}
	if ext != ".npy" && ext != ".npz" {
		return clipErr
	}
	l, err := interrupt.Await(a.ctx, func() (latent.Latent, error) { return inspectArray(path) })
	if err != nil {
		return err
	}
	return a.latent(path, l)
}

// inspectArray reads the header of a latent in .npy or .npz.
func inspectArray(path string) (latent.Latent, error) {
	f, size, err := file.Open(path)
	if err != nil {
		return latent.Latent{}, job.Mark(err, job.ErrInput)
	}
	defer f.Close()
	return media.InspectLatent(f, size, path, media.LatentOptions{})
}

// noModel describes tensors that are not a model, for the reason err: they may be a video
// or a latent.
func (a *app) noModel(f format.File, err error) error {
	if clip, err := media.InspectFile(f); err == nil {
		return a.video(f.Name(), clip)
	}
	if !errors.Is(err, vae.ErrUnknownModel) {
		return err
	}
	l, latentErr := media.InspectLatentFile(f, media.LatentOptions{})
	switch {
	case latentErr == nil:
		return a.latent(f.Name(), l)
	case strings.EqualFold(filepath.Ext(f.Name()), ".latent") || len(f.Names()) == 1: // every model has more tensors
		return latentErr
	}
	return err
}

// adapter returns the adapter that a job would use. If none opens and the user chose none
// by number, it returns one with default limits.
func (c *infoCmd) adapter(a *app) (gpu.Info, error) {
	dev, _, err := machine.OpenFaster(a.ctx, machine.Tuner(a.Terminal, c.NoTune, c.NoCache), c.GPU())
	if err == nil {
		defer dev.Close()
		return dev.Info(), nil
	}
	if c.Adapter.First() >= 0 {
		return gpu.Info{}, job.Mark(err, job.ErrNoDevice)
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	a.Note("no device (%s): planning for WebGPU's default limits", reason)
	return gpu.Info{Name: "an adapter with default limits", Limits: gpu.DefaultLimits}, nil
}

func (a *app) latent(path string, l latent.Latent) error {
	if a.JSON {
		told := map[string]any{"kind": "latent", "file": terminal.FileName(a.Spoken(path)), "shape": l.Shape(), "metadata": l.Meta}
		if len(l.Notes) > 0 {
			told["notes"] = l.Notes
		}
		return a.Print(told)
	}
	what := "latent"
	switch {
	case l.Clips() > 1:
		what = fmt.Sprintf("batch of %d latents", l.Clips())
	case l.Images:
		what = "batch of pictures"
	}
	a.Say("%s: %s of %d channels, %s, %dx%d cells", path, what, l.Channels, terminal.Frames(l.Frames), l.Width, l.Height)
	for _, text := range l.Notes {
		a.Say("  %s", text)
	}
	a.metadata("  ", l.Meta)
	return nil
}

// metadata prints a file's metadata.
func (a *app) metadata(head string, meta map[string]string) {
	told, more := quote.Map(meta)
	for _, key := range slices.Sorted(maps.Keys(told)) {
		a.Say("%s%s: %s", head, key, told[key])
	}
	if more > 0 {
		a.Say("%sand %d more", head, more)
	}
}

func (a *app) video(path string, v media.Summary) error {
	if v.Damage != "" {
		a.Warn("%s: damaged: %s", path, v.Damage)
	}
	for _, text := range v.Warnings {
		a.Warn("%s: %s", path, text)
	}
	if a.JSON {
		told := map[string]any{"kind": "video", "file": terminal.FileName(a.Spoken(path)), "frames": v.Frames, "height": v.Height, "width": v.Width, "fps": v.FPS.Float()}
		if v.About {
			told["frames_estimated"] = true
		}
		if v.Damage != "" {
			told["damage"] = v.Damage
		}
		if v.Aspect.Known() {
			told["sample_aspect"] = v.Aspect.String()
		}
		if len(v.Notes) > 0 {
			told["notes"] = v.Notes
		}
		if len(a.Warnings) > 0 {
			told["warnings"] = a.Warnings
		}
		return a.Print(told)
	}
	rate, about := "", ""
	if v.FPS.Known() {
		rate = fmt.Sprintf(", %s frames/s", v.FPS)
	}
	if v.About {
		about = "about "
	}
	if v.Aspect.Known() {
		rate += fmt.Sprintf(", each %s as wide as high", v.Aspect)
	}
	a.Say("%s: video of %s%s of %dx%d pixels%s", path, about, terminal.Frames(v.Frames), v.Width, v.Height, rate)
	for _, text := range v.Notes {
		a.Say("  %s", text)
	}
	return nil
}

// modelInfo describes a checkpoint.
type modelInfo struct {
	Kind       string            `json:"kind"`
	File       terminal.FileName `json:"file"`
	Format     string            `json:"format"` // "safetensors" or "pth"
	Bytes      int64             `json:"bytes"`
	Print      string            `json:"fingerprint"` // as stored in latents
	Family     string            `json:"family"`
	Model      string            `json:"model"`
	Layout     string            `json:"layout"` // naming of the tensors: "original" or "diffusers"
	Config     vae.Config        `json:"config"`
	Tensors    int               `json:"tensors"`
	Parameters int64             `json:"parameters"`
	DTypes     map[string]int    `json:"dtypes"` // number of tensors by type
	Metadata   map[string]string `json:"metadata,omitempty"`
	Adapter    string            `json:"adapter"`
	Precision  string            `json:"precision"`
	Budget     int64             `json:"default_budget_bytes"`
	Needs      []need            `json:"decode_needs"` // empty without a decoder
}

// need is what decoding a clip of one size requires. Bytes are 0 beyond the adapter's
// limits.
type need struct {
	Size     string  `json:"size"` // HxW pixels
	Width    int     `json:"width"`
	Height   int     `json:"height"`
	Whole    int64   `json:"one_tile_bytes"`
	Exact    int64   `json:"exact_tile_bytes,omitempty"` // in exact tiles of the default size; absent if the model has none, or beyond the limits
	Tiled    int64   `json:"default_tile_bytes"`         // in feathered tiles of the default size
	Fits     string  `json:"tiles"`                      // as the default flags cut the clip
	GFLOPs   int64   `json:"gflops_per_frame"`
	Expected float64 `json:"expected_seconds_per_frame,omitempty"` // on the adapter
	Error    string  `json:"error,omitempty"`
}

// needFrames is the number of latent frames of the clips for which needs are reported: 17
// frames, which have slices of every kind. A longer clip needs more only to blend tiles;
// beyond the budget that goes to disk.
const needFrames = 5

// model describes a checkpoint. expect returns how long a plan takes on the adapter, 0 if
// unknown.
func (a *app) model(m *vae.Model, adapter gpu.Info, expect func(*vae.Plan) time.Duration) error {
	s, c := m.Summary(), m.Config
	i := modelInfo{
		Kind: "model", File: terminal.FileName(a.Spoken(s.File)), Format: s.Format, Bytes: s.Bytes, Print: c.Print, Family: c.Family, Model: c.Model, Layout: c.Layout,
		Config: c, Tensors: s.Tensors, Parameters: s.Parameters, DTypes: s.DTypes, Metadata: s.Metadata, Adapter: adapter.Name,
		Precision: report.Precision(m), Budget: engine.Budget(adapter),
	}
	for _, size := range []tiling.Size{{H: 512, W: 512}, {H: 720, W: 1280}, {H: 1080, W: 1920}} {
		if c.Can("decode") != nil {
			break
		}
		i.Needs = append(i.Needs, needs(a.ctx, m, size, expect))
	}
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if a.JSON {
		return a.Print(i)
	}
	a.Say("%s: %s VAE (%s), %s", i.File, i.Model, i.Family, engine.Bytes(i.Bytes))
	a.Say("  file         %s, %s names", i.Format, i.Layout)
	a.Say("  fingerprint  %s", i.Print)
	a.Say("  encoder      %s", network(c.Lacks == "encoder", c.Widths, c.StageBlocks("encoder"), "decodes"))
	a.Say("  decoder      %s", network(c.Lacks == "decoder", c.Decoder, c.StageBlocks("decoder"), "encodes"))
	a.Say("  norms        %s", c.Norms())
	a.Say("  pixels       %s", pixels(c))
	a.Say("  latent       %d channels, %s, 1 cell per %dx%d pixels", c.Latent, latentFrames(c), c.Spatial, c.Spatial)
	a.Say("  statistics   %s", scaling(c))
	if doubt := c.Doubt(); doubt != "" {
		a.Warn("%s: %s", i.File, doubt)
	}
	a.Say("  parameters   %s in %d tensors: %s", terminal.Thousands(i.Parameters), i.Tensors, counts(i.DTypes))
	a.metadata("  metadata     ", i.Metadata)
	if len(i.Needs) == 0 {
		return nil
	}
	return a.table(i)
}

// network describes the encoder or the decoder. If it is lacking, the file supports the
// other direction only.
func network(lacking bool, widths, blocks []int, does string) string {
	if lacking {
		return "none: the file " + does + " only"
	}
	if len(blocks) == 0 {
		return list(widths)
	}
	if slices.Min(blocks) < slices.Max(blocks) {
		return fmt.Sprintf("%s, with %s blocks", list(widths), list(blocks))
	}
	return fmt.Sprintf("%s, %d blocks per stage", list(widths), blocks[0])
}

// table prints the needs of decoding.
func (a *app) table(i modelInfo) error {
	what := "clips"
	if i.Config.Independent {
		what = "pictures"
	}
	a.Say("Decoding %s on %s, %s, %s by default:", what, i.Adapter, i.Precision, engine.Bytes(i.Budget))
	if a.Quiet {
		return nil
	}
	exact := slices.Contains(i.Config.Tilings, vae.Exact)
	columns := []string{"frame", "GFLOP per frame", "in one tile", "in tiles of 512", "by default", "time per frame"}
	if exact {
		columns = slices.Replace(columns, 3, 4, "exact tiles of 512", "feathered ones")
	}
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "  "+strings.Join(columns, "\t"))
	for _, n := range i.Needs {
		expected := "unknown"
		if n.Expected > 0 {
			expected = terminal.About(time.Duration(n.Expected * float64(time.Second)))
		}
		row := []string{fmt.Sprintf("%dx%d", n.Width, n.Height), fmt.Sprint(n.GFLOPs), bytesOrNot(n.Whole), bytesOrNot(n.Tiled), n.Fits, expected}
		if exact {
			row = slices.Insert(row, 3, bytesOrNot(n.Exact))
		}
		fmt.Fprintln(t, "  "+strings.Join(row, "\t"))
	}
	return t.Flush()
}

// needs plans the decoding of a clip.
func needs(ctx context.Context, m *vae.Model, size tiling.Size, expect func(*vae.Plan) time.Duration) need {
	n := need{Size: size.String(), Width: size.W, Height: size.H, Fits: "does not fit"}
	c := m.Config
	z := latent.Latent{
		Channels: c.Latent, Frames: needFrames, Height: (size.H + c.Decoded() - 1) / c.Decoded(), Width: (size.W + c.Decoded() - 1) / c.Decoded(),
	}
	plan := func(want job.Choices) (p *vae.Plan, gflops int64, err error) {
		d, err := job.Decode(c, z, size.String(), want)
		if err != nil {
			return nil, 0, err
		}
		planned, err := d.Plan(ctx, m)
		if err != nil {
			return nil, 0, err
		}
		return planned.Plan, planned.Cost.FLOPs / int64(planned.Frames) / 1e9, nil
	}
	bytes := func(tiling vae.Tiling, tile tiling.Choice) int64 {
		p, gflops, err := plan(job.Choices{Tiling: tiling, Tile: &tile, Budget: math.MaxInt64})
		if err != nil {
			return 0
		}
		if p.Tiles.Whole() {
			n.GFLOPs = gflops
		}
		return p.Bytes()
	}
	usual := tiling.Choice{Tile: tiling.Square(tiling.DefaultTile)}
	n.Whole = bytes(vae.Feather, tiling.Choice{})
	n.Tiled = bytes(vae.Feather, usual)
	if slices.Contains(c.Tilings, vae.Exact) {
		n.Exact = bytes(vae.Exact, usual)
	}
	p, gflops, err := plan(job.Choices{})
	if err != nil {
		n.Error = err.Error()
		return n
	}
	n.Fits, n.GFLOPs = job.Cut(p), cmp.Or(n.GFLOPs, gflops)
	n.Expected = expect(p).Seconds() / float64(p.Frames)
	return n
}

// scaling describes the scale of a pipeline's latents.
func scaling(c vae.Config) string {
	if c.Mean == nil {
		return fmt.Sprintf("unknown for %d channels: --scale pipeline and none are equal", c.Latent)
	}
	same := func(v []float64) bool { return slices.Min(v) == slices.Max(v) }
	if same(c.Mean) && same(c.Scale) {
		return fmt.Sprintf("scaling %v, shift %v", c.Scale[0], c.Mean[0])
	}
	// Scale is 1 / deviation.
	return fmt.Sprintf("normalised per channel, mean %.4f to %.4f, deviation %.4f to %.4f",
		slices.Min(c.Mean), slices.Max(c.Mean), 1/slices.Max(c.Scale), 1/slices.Min(c.Scale))
}

func pixels(c vae.Config) string {
	kind := "RGB"
	if c.Channels == 4 {
		kind = "RGB and alpha"
	}
	if c.Patch > 1 {
		kind += fmt.Sprintf(", in patches of %dx%d", c.Patch, c.Patch)
	}
	if n := c.Decoded() / c.Spatial; n > 1 {
		kind += fmt.Sprintf(", decoded at %d times the size", n)
	}
	return kind
}

func latentFrames(c vae.Config) string {
	if c.Independent {
		return fmt.Sprintf("1 frame per picture (with --no-independent-frames, 1 per %d frames)", c.Temporal)
	}
	return fmt.Sprintf("1 frame per %d", c.Temporal)
}

// list formats "24, 32, 48, 48".
func list(v []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(v), " ", ", "), "[]")
}

func bytesOrNot(n int64) string {
	if n == 0 {
		return "beyond limits"
	}
	return engine.Bytes(n)
}

// counts formats "250 F16".
func counts(m map[string]int) string {
	var s []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		s = append(s, fmt.Sprintf("%d %s", m[key], key))
	}
	return strings.Join(s, ", ")
}
