package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/models"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/engine"
	"tessera/gpu"
	"tessera/tiling"
	"tessera/vae"
)

type planCmd struct {
	Model     string       `group:"input" everyday:"" short:"m" required:"" placeholder:"MODEL" env:"TESSERA_MODEL" help:"Checkpoint, or a name from 'tessera models'." more:"plan reads only the checkpoint's header, and downloads nothing."`
	Op        string       `group:"input" everyday:"" enum:"decode,encode" default:"decode" help:"Operation: decode or encode."`
	Frames    flags.Frames `group:"input" everyday:"" default:"1" placeholder:"N" help:"Frames of the video."`
	Size      flags.Pixels `group:"input" everyday:"" placeholder:"WxH" help:"Size of the video in pixels, width x height; default 1280x720, of pictures 1024x1024."`
	Precision string       `group:"device" everyday:"" enum:"f32,f16" default:"f16" help:"Storage of activations: f32 or f16."`
	Layers    bool         `group:"output" everyday:"" help:"List every layer."`
	Map       bool         `group:"output" help:"List the buffers on the device, their contents and lifetimes."`
	Least     bool         `group:"tiles" help:"Plan for the smallest --memory that the job runs with."`
	Choices   bool         `group:"tiles" help:"Compare one tile with --offload=on, one tile with --offload=off, and the largest tile within --memory with and without offload."`
	flags.Pictures
	flags.Shortcuts
	flags.Tiles

	file terminal.FileName // the planned file; "": a published model
}

// Help is shown below the flags.
func (planCmd) Help() string {
	return `plan counts the commands that would run, without weights: multiply-accumulates of convolutions and products (attention's separately), bytes read and written if every operand moved once, dispatches, and peak memory on the device. It assumes an adapter without limits, and unlimited memory except for --memory; a real adapter may need more dispatches or smaller tiles. Without --host-memory host memory is unlimited too, while a run uses at most three quarters of what is free; the plan says how much must be free. Weights of a published model are f16. If there is an adapter, plan estimates the time on it by its last jobs, or a short measurement.

The reference is the original implementation on the same job. It computes every temporal tap, also of zeros and repeated frames, every upsampled frame, also those it drops, and log-variances. It uses the same tiles, or the whole frame in place of exact tiles.

Slices have one latent frame unless --chunk sets more, or --memory leaves room for more.

    tessera plan -m qwen-image
    tessera plan -m seedvr2 --frames 21 --size 1280x720 --tile off
    tessera plan -m wan2.1 --op encode --size 1920x1080 --memory 6GiB --layers
    tessera plan -m Wan2.2_VAE.pth --frames 81 --size 1280x704 --json`
}

// planned is what a job needs; its JSON is for machines.
type planned struct {
	Command   string            `json:"command"`
	Model     string            `json:"model"`
	File      terminal.FileName `json:"file,omitempty"`
	Op        string            `json:"op"`
	Frames    int               `json:"frames"`
	Height    int               `json:"height"`
	Width     int               `json:"width"`
	Pictures  bool              `json:"independent_frames,omitempty"`
	Precision string            `json:"precision"`
	Expected  float64           `json:"expected_seconds,omitempty"` // on the adapter here, at its default precision
	Adapter   string            `json:"adapter,omitempty"`
	report.Layout
	Depth  int  `json:"depth,omitempty"` // of the portions that the slices run in
	Rows   bool `json:"rows,omitempty"`  // convolutions overwrite their input
	Shrunk bool `json:"shrunk"`

	MACs               int64 `json:"macs"` // of convolutions and matrix products, without attention
	AttentionMACs      int64 `json:"attention_macs"`
	ReferenceMACs      int64 `json:"reference_macs"`
	ReferenceAttention int64 `json:"reference_attention_macs"`
	Bytes              int64 `json:"bytes"` // read and written if each command moved each operand once
	Dispatches         int64 `json:"dispatches"`

	Peak        int64  `json:"peak_device_bytes"` // the sum of the five below
	Weights     int64  `json:"weight_bytes"`
	Activations int64  `json:"activation_bytes"`
	Causal      int64  `json:"memory_bytes"`            // frames kept from slice to slice
	Format      string `json:"memory_format,omitempty"` // f32, f16 or i8
	Canvas      int64  `json:"canvas_bytes"`            // for assembling tiles
	Transfer    int64  `json:"transfer_bytes"`
	Spool       int64  `json:"spool_bytes"`                 // outside of the device
	Host        int64  `json:"host_bytes,omitempty"`        // causal memory, activations and weights that live on the host
	HostWeights int64  `json:"host_weight_bytes,omitempty"` // the weights in host_bytes
	HostFree    int64  `json:"host_free_bytes,omitempty"`   // must be free on the host before a run uses host_bytes
	Moved       int64  `json:"moved_bytes,omitempty"`       // of host_bytes, to the device and back, in the whole job

	Choices []planChoice `json:"choices,omitempty"` // with --choices

	Layers []planLayer      `json:"layers"`
	Map    []planAllocation `json:"map,omitempty"` // with --map
}

// planAllocation is the content of a device buffer during an interval.
type planAllocation struct {
	Buffer string `json:"buffer"`
	Size   int64  `json:"buffer_bytes"`
	Slice  int    `json:"slice_frames,omitempty"` // in slices of this number of frames; absent: always
	What   string `json:"what"`
	Bytes  int64  `json:"bytes"`
	Until  string `json:"until,omitempty"` // the last layer that reads it
}

// planLayer is one layer's share of a plan.
type planLayer struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	MACs       int64  `json:"macs"`
	Reference  int64  `json:"reference_macs"`
	Bytes      int64  `json:"bytes"`
	Dispatches int64  `json:"dispatches"`
}

func (c *planCmd) Run(a *app) error {
	m, err := c.open(a)
	if err != nil {
		return err
	}
	defer m.Close()
	if c.Size == (flags.Pixels{}) {
		c.Size = flags.Pixels{W: 1280, H: 720}
		if c.independent(m) {
			c.Size = flags.Pixels{W: 1024, H: 1024}
		}
	}
	o, err := c.options(m)
	if err != nil {
		return err
	}
	done := a.Planning(c.Op)
	defer done()
	lay := func(o vae.Options) (*vae.Plan, error) { return c.lay(a.ctx, m, o) }
	p, err := lay(o)
	if err != nil {
		return machine.Unplanned(err, o, lay)
	}
	r, err := interrupt.Await(a.ctx, func() (*planned, error) { return c.planned(m, p), nil }) // small tiles have many results
	if err != nil {
		return err
	}
	if c.Choices {
		if r.Choices, err = c.alternatives(a.ctx, m, o); err != nil {
			return machine.Unplanned(err, o, lay)
		}
	}
	done()
	if err := c.expect(a, m, p, r); err != nil {
		return err
	}
	if a.JSON {
		return a.Print(r)
	}
	return c.tell(a, r, p)
}

// expect estimates how long the job takes on the best adapter here, if there is one.
func (c *planCmd) expect(a *app, m *vae.Model, p *vae.Plan, r *planned) error {
	_, noCache := os.LookupEnv("TESSERA_NO_CACHE")
	o := gpu.Options{Adapter: -1, Backend: cmp.Or(os.Getenv("TESSERA_BACKEND"), "auto"), NoCache: noCache}
	_, noTune := os.LookupEnv("TESSERA_NO_TUNE")
	dev, why, err := machine.OpenFaster(a.ctx, machine.Tuner(a.Terminal, noTune, noCache), o)
	if err != nil {
		return a.ctx.Err()
	}
	info := dev.Info()
	dev.Close()
	if why != "" {
		o.Adapter = info.Index
	}
	precision := vae.Auto
	if c.Precision == string(vae.F32) {
		precision = vae.F32
	}
	if d := machine.Duration(a.ctx, o, info, m, precision, c.Op, p); d > 0 {
		r.Expected, r.Adapter = d.Seconds(), info.Name
	}
	return a.ctx.Err()
}

// open returns the model of a family's name, or else of a file's header.
func (c *planCmd) open(a *app) (*vae.Model, error) {
	limits := gpu.DefaultLimits
	limits.MaxBuffer, limits.MaxBinding = 1<<50, 1<<50
	adapter := gpu.Info{Type: "discrete", F16: true, Memory: 1 << 50, Limits: limits}
	settings := vae.Settings{Precision: vae.Precision(c.Precision), As: c.As, Force: true, Kernels: c.KernelSettings()} // planning does not depend on the weights
	if m, err := vae.Published(c.Model, adapter, settings); !errors.Is(err, vae.ErrUnknownModel) {
		return m, err
	}
	c.Model = models.Path(c.Model)
	c.file = terminal.FileName(c.Model)
	m, err := interrupt.Await(a.ctx, func() (*vae.Model, error) { return vae.Inspect(c.Model, adapter, settings) })
	return m, absent(c.Model, err)
}

// absent reports that a model is neither a family nor a file, and lists the families.
func absent(model string, err error) error {
	if told := missing(model, err); told != err {
		return told
	}
	if _, there := os.Stat(model); errors.Is(err, fs.ErrNotExist) && there != nil { // otherwise one of its shards is missing
		return terminal.Refused("--model=%s: no such file, expected a checkpoint or a name from `tessera models`", model)
	}
	return err
}

// options returns the job's options from the flags.
func (c *planCmd) options(m *vae.Model) (vae.Options, error) {
	o, err := c.Tiles.Choices().Options()
	o.Independent, o.Internals.Least, o.Host = c.independent(m), c.Least, cmp.Or(o.Host, 1<<50) // independent of this machine
	if o.Chunk == vae.AutoChunk && c.Memory == 0 {
		o.Chunk = 1 // not the largest that fits
	}
	return o, err
}

// lay plans the job.
func (c *planCmd) lay(ctx context.Context, m *vae.Model, o vae.Options) (*vae.Plan, error) {
	n, h, w := int(c.Frames), c.Size.H, c.Size.W
	if c.Op == "encode" {
		p, err := m.PlanEncode(ctx, n, h, w, vae.EncodeOptions{Options: o})
		if err != nil {
			return nil, err
		}
		return p.Plan, nil
	}
	frames, _, _ := m.Padded(n, h, w, o.Independent)
	side := m.Config.Decoded()
	p, err := m.PlanDecode(ctx, m.Config.Encoding().Frames(frames, o.Independent), (h+side-1)/side, (w+side-1)/side, vae.DecodeOptions{Options: o, RGBA8: true, Frames: n, Height: h, Width: w})
	if err != nil {
		return nil, err
	}
	return p.Plan, nil
}

// free returns how much memory must be free on the host before a run uses so much of it.
func (c *planCmd) free(host int64) int64 {
	if c.Host > 0 {
		return host
	}
	return engine.HostFree(host)
}

// independent reports whether frames are pictures.
func (c *planCmd) independent(m *vae.Model) bool {
	if c.Independent == nil {
		return m.Config.Independent
	}
	return *c.Independent
}

// planned sums a plan.
func (c *planCmd) planned(m *vae.Model, p *vae.Plan) *planned {
	r := &planned{
		Command: "plan", Model: m.Config.Model, Op: c.Op, Frames: int(c.Frames), Height: c.Size.H, Width: c.Size.W, Pictures: c.independent(m), Precision: c.Precision,
		Layout: report.NewLayout(p), Depth: p.Depth, Rows: p.InPlace, Shrunk: p.Shrunk,
		Peak: p.Bytes(), Weights: p.Weights, Activations: p.Activations, Causal: p.Causal, Canvas: p.Canvas, Transfer: p.Transfer, Spool: p.Spool,
		Host: p.Host, HostWeights: p.Streamed, HostFree: c.free(p.Host), Moved: p.Moved,
	}
	r.File = c.file
	if c.Map {
		for _, l := range p.MemoryMap() {
			r.Map = append(r.Map, planAllocation(l))
		}
	}
	for _, l := range p.Layers() {
		r.Layers = append(r.Layers, planLayer{l.Name, l.Kind, l.MACs, l.Reference, l.Bytes, l.Dispatches})
		r.Bytes += l.Bytes
		r.Dispatches += l.Dispatches
		if l.Kind == engine.Attend {
			r.AttentionMACs += l.MACs
			r.ReferenceAttention += l.Reference
		} else {
			r.MACs += l.MACs
			r.ReferenceMACs += l.Reference
		}
	}
	if p.Causal+p.Host > p.Streamed && !p.Hosted {
		r.Format = c.Precision
		if p.CausalI8 {
			r.Format = "i8"
		}
	}
	return r
}

// tell prints a plan for people.
func (c *planCmd) tell(a *app, r *planned, p *vae.Plan) error {
	a.Say("%s, %s of %s, %d wide and %d high, %s", r.Model, r.Op, terminal.Frames(r.Frames), r.Width, r.Height, r.Precision)
	cut := job.Cut(p)
	if r.Slices > 1 {
		cut += fmt.Sprintf(", %d slices", r.Slices)
	}
	if r.Slices > 1 && r.Chunk > 1 {
		cut += fmt.Sprintf(" of up to %d latent frames", r.Chunk)
	}
	if r.Depth > 0 {
		cut += ", large frames in parts"
	}
	if r.Rows {
		cut += ", convolutions write over their input"
	}
	if r.Expected > 0 {
		a.Say("  time        %s expected on %s", terminal.About(time.Duration(r.Expected*float64(time.Second))), r.Adapter)
	} else {
		a.Say("  time        unknown: no usable adapter here, or no cache folder")
	}
	a.Say("  tiles       %s", cut)
	a.Say("  products    %s MACs, %.3f of the reference's %s", terminal.Scaled(r.MACs), float64(r.MACs)/float64(r.ReferenceMACs), terminal.Scaled(r.ReferenceMACs))
	if r.ReferenceAttention > 0 {
		a.Say("  attention   %s MACs, %.3f of the reference's %s", terminal.Scaled(r.AttentionMACs), float64(r.AttentionMACs)/float64(r.ReferenceAttention), terminal.Scaled(r.ReferenceAttention))
	}
	a.Say("  traffic     %s in %s dispatches", engine.Bytes(r.Bytes), terminal.Thousands(r.Dispatches))
	parts := []string{"weights " + engine.Bytes(r.Weights), "activations " + engine.Bytes(r.Activations)}
	for _, m := range []struct {
		what  string
		bytes int64
	}{{"causal memory" + in8(p), r.Causal}, {"blending", r.Canvas}, {"results", r.Transfer}} {
		if m.bytes > 0 {
			parts = append(parts, m.what+" "+engine.Bytes(m.bytes))
		}
	}
	a.Say("  memory      %s: %s", engine.Bytes(r.Peak), strings.Join(parts, ", "))
	if r.Host > 0 {
		var parts []string
		kept := "causal memory" + in8(p)
		if p.Hosted {
			kept = "activations"
		}
		for _, m := range []struct {
			what  string
			bytes int64
		}{{kept, r.Host - r.HostWeights}, {"weights", r.HostWeights}} {
			if m.bytes > 0 {
				parts = append(parts, engine.Bytes(m.bytes)+" of "+m.what)
			}
		}
		a.Say("  on the host %s, %s moved per frame: %s", strings.Join(parts, " and "), engine.Bytes(r.Moved/int64(r.Frames)), crossing(r))
		rule := "a run uses at most 3/4 of it, the plan has no such limit"
		if c.Host > 0 {
			rule = "a run uses up to --host-memory, whatever is free"
		}
		a.Say("  free there  %s at least: %s", engine.Bytes(r.HostFree), rule)
	}
	if r.Spool > 0 {
		a.Say("  on disk     %s", engine.Bytes(r.Spool))
	}
	if a.Quiet {
		return nil
	}
	if err := c.tellChoices(a, r.Choices); err != nil {
		return err
	}
	if err := c.tellMap(a, r.Map); err != nil || !c.Layers {
		return err
	}
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "  layer\tkind\tMACs\treference\ttraffic\tdispatches")
	for _, l := range r.Layers {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%d\n", l.Name, l.Kind, terminal.Scaled(l.MACs), terminal.Scaled(l.Reference), engine.Bytes(l.Bytes), l.Dispatches)
	}
	return t.Flush()
}

// in8 describes causal memory of 8 bits.
func in8(p *vae.Plan) string {
	if p.CausalI8 {
		return " in 8 bits"
	}
	return ""
}

// link is the bytes per second between a card and its machine, measured on PCI Express
// 4.0 with 16 lanes: 25 of 32 GB.
const link = 25e9

// crossing says whether the transfers or the arithmetic take longer.
func crossing(r *planned) string {
	flops := 2 * float64(r.MACs+r.AttentionMACs) * link / float64(r.Moved)
	return fmt.Sprintf("at %d GB/s this takes longer than the arithmetic on devices faster than %sFLOP/s", int(link/1e9), terminal.Scaled(int64(flops)))
}

// tellMap prints the content of the device buffers.
func (c *planCmd) tellMap(a *app, all []planAllocation) error {
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 3, ' ', 0)
	if len(all) > 0 {
		fmt.Fprintln(t, "  buffer\tof\tframes in\tbytes\tfrom\tuntil")
	}
	for _, l := range all {
		slice := "all"
		if l.Slice > 0 {
			slice = strconv.Itoa(l.Slice)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", l.Buffer, engine.Bytes(l.Size), slice, engine.Bytes(l.Bytes), l.What, l.Until)
	}
	return t.Flush()
}

// planChoice is one way to do a job; its JSON is for machines.
type planChoice struct {
	Tile    string `json:"tile"` // "off", or HxW in pixels
	Tiles   int    `json:"tiles"`
	Offload bool   `json:"offload"` // causal memory or weights live on the host
	Exact   bool   `json:"exact"`   // the result equals one tile's
	Fits    bool   `json:"fits"`    // the peak fits the budget; otherwise it is the least possible
	Peak    int64  `json:"peak_device_bytes"`
	Host    int64  `json:"host_bytes"`
	Free    int64  `json:"host_free_bytes"` // must be free on the host before a run uses host_bytes
	Moved   int64  `json:"moved_bytes"`     // between device and host, in the whole job
	MACs    int64  `json:"macs"`            // including attention
}

// alternatives returns the ways to do a job: untiled and in the largest tile within the
// budget, each without offload and, if allowed, with causal memory or weights on the
// host. Equal ways appear once.
func (c *planCmd) alternatives(ctx context.Context, m *vae.Model, o vae.Options) ([]planChoice, error) {
	untiled, auto := o, o
	untiled.Tile, untiled.Overlap, untiled.Shrink = tiling.Choice{}, tiling.Size{}, false
	auto.Tile, auto.Shrink = tiling.Choice{Auto: true}, false
	away := untiled
	away.Offload, untiled.Offload = vae.OffloadOn, vae.OffloadOff
	alone := auto
	alone.Offload = vae.OffloadOff
	var all []planChoice
	for _, o := range []vae.Options{away, untiled, auto, alone} {
		p, err := c.lay(ctx, m, o)
		fits := !errors.Is(err, vae.ErrMemory)
		if !fits && !o.Tile.Auto {
			o.Budget, o.Internals.Least = 0, true
			p, err = c.lay(ctx, m, o)
		}
		switch {
		case errors.Is(err, tiling.ErrBudget) || errors.Is(err, vae.ErrMemory): // no such tile exists
			continue
		case err != nil:
			return nil, err
		case o.Offload == vae.OffloadOn && p.Host == 0:
			continue
		}
		l := report.NewLayout(p)
		choice := planChoice{l.Tile, l.Tiles, p.Host > 0, p.Tiles.Whole() || p.Tiling == vae.Exact, fits, p.Bytes(), p.Host, c.free(p.Host), p.Moved, p.Cost.MACs}
		if !slices.Contains(all, choice) {
			all = append(all, choice)
		}
	}
	return all, nil
}

// tellChoices prints the alternatives side by side.
func (c *planCmd) tellChoices(a *app, all []planChoice) error {
	if len(all) == 0 {
		return nil
	}
	t := tabwriter.NewWriter(a.Stdout, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "  tiles\toffload\tdevice\thost\tfree there\tmoved\tMACs\texact\tfits")
	for _, p := range all {
		tile := "one"
		if p.Tiles > 1 {
			tile = fmt.Sprintf("%d of %s", p.Tiles, p.Tile)
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", tile, yes(p.Offload), engine.Bytes(p.Peak), engine.Bytes(p.Host), engine.Bytes(p.Free), engine.Bytes(p.Moved), terminal.Scaled(p.MACs), yes(p.Exact), yes(p.Fits))
	}
	return t.Flush()
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// The largest frame and clip that are planned, in pixels. The plan records a frame's
// attention block by block, which would take a hundred gigabytes for 16K, and counts must
// not overflow.
const (
	mostPixels = 1 << 25 // of a frame: 8K
	mostInAll  = 1 << 38
)

// Validate refuses a clip that is too large to count.
func (c *planCmd) Validate() error {
	pixels := int64(c.Size.H) * int64(c.Size.W)
	if pixels > mostPixels {
		return fmt.Errorf("--size=%v: %d pixels, expected at most %d", c.Size, pixels, mostPixels)
	}
	if pixels *= int64(c.Frames); pixels > mostInAll {
		return fmt.Errorf("--frames=%d --size=%v: %d pixels in all, expected at most %d", c.Frames, c.Size, pixels, int64(mostInAll))
	}
	return c.Tiles.Validate()
}
