package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"tessera/gpu"
	"tessera/media"
	"tessera/tiling"
	"tessera/vae"
)

type infoCmd struct {
	File string `arg:"" help:"Checkpoint, latent or video."`
	deviceFlags
}

// Help is shown below the flags.
func (infoCmd) Help() string {
	return `What a model needs is planned for the adapter that would be taken, without running anything; where there is none, for one with WebGPU's default limits.

    tessera info ema_vae_fp16.safetensors`
}

func (c *infoCmd) Run(a *app) error {
	_, err := check(c.File, vae.Precision(c.Precision))
	if err != nil {
		return a.other(c.File, err)
	}
	adapter, err := c.adapter(a)
	if err != nil {
		return err
	}
	m, err := vae.Inspect(c.File, adapter, vae.Settings{Precision: vae.Precision(c.Precision)})
	if err != nil {
		return err
	}
	defer m.Close()
	return a.model(m, adapter)
}

// other tells of a file that is no model, for the reason err: it may be a video
// or a latent.
func (a *app) other(path string, err error) error {
	clip, clipErr := media.Open(a.ctx, path, 4)
	if clipErr == nil {
		defer clip.Close()
		return a.video(path, clip)
	}
	tensors := strings.EqualFold(filepath.Ext(path), ".safetensors")
	if tensors && !errors.Is(err, vae.ErrUnknownModel) {
		return err
	}
	if l, latentErr := media.ReadLatent(path, 0); latentErr == nil {
		return a.latent(path, l)
	} else if ext := filepath.Ext(path); strings.EqualFold(ext, ".latent") || strings.EqualFold(ext, ".npy") {
		return latentErr
	}
	if tensors {
		return err
	}
	return clipErr
}

// adapter is the one that would be taken. Where there is none, and none was
// asked for by number, it is one with default limits.
func (c *infoCmd) adapter(a *app) (gpu.Info, error) {
	dev, err := openDevice(c.options())
	if err == nil {
		defer dev.Close()
		return dev.Info(), nil
	}
	if c.Adapter >= 0 {
		return gpu.Info{}, kindError{err, errNoDevice}
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	a.note("no device (%s): planning for WebGPU's default limits", reason)
	return gpu.Info{Name: "an adapter with default limits", Limits: gpu.DefaultLimits}, nil
}

// modelInfo is what is told of a checkpoint.
type modelInfo struct {
	Kind       string            `json:"kind"`
	File       string            `json:"file"`
	Bytes      int64             `json:"bytes"`
	Family     string            `json:"family"`
	Config     vae.Config        `json:"config"`
	Tensors    int               `json:"tensors"`
	Parameters int64             `json:"parameters"`
	DTypes     map[string]int    `json:"dtypes"` // tensors of each
	Metadata   map[string]string `json:"metadata,omitempty"`
	Adapter    string            `json:"adapter"`
	Precision  string            `json:"precision"`
	Budget     int64             `json:"default_budget_bytes"`
	Needs      []need            `json:"decode_needs"`
}

// need is what decoding a clip of a size takes.
type need struct {
	Size   string `json:"size"` // HxW pixels
	Whole  int64  `json:"one_tile_bytes"`
	Tiled  int64  `json:"default_tile_bytes"`
	Fits   string `json:"tiles"` // as the default flags would cut it
	GFLOPs int64  `json:"gflops_per_frame"`
	Error  string `json:"error,omitempty"`
}

// needFrames are the latent frames of the clips that needs are told for: 17
// frames, which has slices of every kind. A longer clip needs no more but for
// blending tiles, which goes to disk beyond the budget.
const needFrames = 5

func (a *app) model(m *vae.Model, adapter gpu.Info) error {
	s := m.Summary()
	i := modelInfo{
		Kind: "model", File: s.File, Bytes: s.Bytes, Family: m.Config.Family, Config: m.Config, Tensors: s.Tensors,
		Parameters: s.Parameters, DTypes: s.DTypes, Metadata: s.Metadata, Adapter: adapter.Name,
		Precision: (&engine{model: m}).precision(), Budget: vae.Budget(adapter),
	}
	for _, size := range []tiling.Size{{H: 512, W: 512}, {H: 720, W: 1280}, {H: 1080, W: 1920}} {
		i.Needs = append(i.Needs, needs(m, size))
	}
	if a.json {
		return a.print(i)
	}
	a.say("%s: %s VAE, %s", i.File, i.Family, vae.Bytes(i.Bytes))
	a.say("  widths       %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(m.Config.Widths), " ", ", "), "[]"))
	a.say("  blocks       %d a stage, %d norm groups", m.Config.Blocks, m.Config.Groups)
	a.say("  latent       %d channels, 1 frame for %d, 1 cell for %dx%d pixels, %s", m.Config.Latent,
		m.Config.Temporal, m.Config.Spatial, m.Config.Spatial, scaling(m.Config))
	a.say("  parameters   %s in %d tensors: %s", thousands(i.Parameters), i.Tensors, counts(i.DTypes))
	for _, key := range slices.Sorted(maps.Keys(i.Metadata)) {
		a.say("  metadata     %s: %s", key, i.Metadata[key])
	}
	a.say("Decoding on %s, %s, %s by default:", i.Adapter, i.Precision, vae.Bytes(i.Budget))
	if a.quiet {
		return nil
	}
	t := tabwriter.NewWriter(a.stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "  frame\tGFLOP a frame\tin one tile\tin tiles of 512\tby default")
	for _, n := range i.Needs {
		fmt.Fprintf(t, "  %s\t%d\t%s\t%s\t%s\n", n.Size, n.GFLOPs, bytesOrNot(n.Whole), bytesOrNot(n.Tiled), n.Fits)
	}
	return t.Flush()
}

// scaling tells of the numbers that a pipeline's latent has.
func scaling(c vae.Config) string {
	if c.Mean == nil {
		return "pipeline's numbers unknown"
	}
	same := func(v []float64) bool { return slices.Min(v) == slices.Max(v) }
	if same(c.Mean) && same(c.Scale) {
		return fmt.Sprintf("scaling %v, shift %v", c.Scale[0], c.Mean[0])
	}
	return "mean and scaling per channel"
}

// needs plans the decoding of a clip.
func needs(m *vae.Model, size tiling.Size) need {
	n := need{Size: size.String(), Fits: "does not fit"}
	cell := m.Config.Spatial
	plan := func(o vae.Options) (*vae.Layout, error) {
		return m.PlanDecode(needFrames, (size.H+cell-1)/cell, (size.W+cell-1)/cell, o)
	}
	usual := tiling.Choice{Tile: tiling.Square(tiling.DefaultTile)}
	overlap := tiling.Square(tiling.DefaultOverlap)
	if l, err := plan(vae.Options{Memory: math.MaxInt64}); err == nil {
		n.Whole = l.Bytes()
		n.GFLOPs = l.Cost.FLOPs / int64(1+(needFrames-1)*m.Config.Temporal) / 1e9
	}
	if l, err := plan(vae.Options{Tile: usual, Overlap: overlap, Memory: math.MaxInt64}); err == nil {
		n.Tiled = l.Bytes()
	}
	l, err := plan(vae.Options{Tile: usual, Overlap: overlap, Shrink: true})
	if err != nil {
		n.Error = err.Error()
		return n
	}
	n.Fits = cutting(l)
	if n.GFLOPs == 0 {
		n.GFLOPs = l.Cost.FLOPs / int64(1+(needFrames-1)*m.Config.Temporal) / 1e9
	}
	return n
}

func bytesOrNot(n int64) string {
	if n == 0 {
		return "beyond limits"
	}
	return vae.Bytes(n)
}

// counts prints "250 F16".
func counts(m map[string]int) string {
	var s []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		s = append(s, fmt.Sprintf("%d %s", m[key], key))
	}
	return strings.Join(s, ", ")
}

// thousands prints 250648227 as 250,648,227.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func (a *app) latent(path string, l media.Latent) error {
	if a.json {
		return a.print(map[string]any{"kind": "latent", "file": path, "shape": l.Shape(), "metadata": l.Meta})
	}
	a.say("%s: latent of %d channels, %s, %dx%d cells", path, l.Channels, frames(l.Frames), l.Height, l.Width)
	for _, key := range slices.Sorted(maps.Keys(l.Meta)) {
		a.say("  %s: %s", key, l.Meta[key])
	}
	return nil
}

func (a *app) video(path string, c media.Clip) error {
	h, w := c.Size()
	if a.json {
		return a.print(map[string]any{"kind": "video", "file": path, "frames": c.Frames(), "height": h, "width": w, "fps": c.FPS().Float()})
	}
	rate := ""
	if c.FPS().Known() {
		rate = fmt.Sprintf(", %s frames/s", c.FPS())
	}
	a.say("%s: video of %s of %dx%d pixels%s", path, frames(c.Frames()), h, w, rate)
	return nil
}
