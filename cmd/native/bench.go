package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"tessera/app/bench"
	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/cmd/native/flags"
	"tessera/gpu"
	"tessera/media"
	"tessera/tiling"
	"tessera/tune"
	"tessera/vae"
)

type benchCmd struct {
	Part    string       `arg:"" optional:"" enum:"all,ops,layers,decode,encode" default:"all" help:"ops, layers, decode or encode; default all."`
	Model   string       `group:"input" everyday:"" short:"m" placeholder:"MODEL" help:"Checkpoint, or a name from 'tessera models' with random weights; default: SeedVR2 and Wan 2.1."`
	Report  string       `group:"output" everyday:"" placeholder:"FILE" help:"Write all results to a .md or .json file." more:"It names the adapter, driver, Dawn, version and command, but no user or folder."`
	Seconds float64      `group:"input" everyday:"" default:"40" placeholder:"N" help:"Approximate duration in seconds; default 40. A longer run measures larger clips."`
	Size    flags.Pixels `group:"input" everyday:"" placeholder:"WxH" help:"Size of the clips in pixels, width x height; default: as large as --seconds allows."`
	Frames  flags.Frames `group:"input" everyday:"" default:"5" placeholder:"N" help:"Frames of these clips; default 5."`
	Tile    *flags.Tile  `group:"tiles" everyday:"" placeholder:"TILE" help:"Tile in pixels: off, auto (the largest that fits the memory), N or HxW; default 512."`
	Kernels bool         `group:"device" name:"every-kernel" help:"Before measuring a clip, try every suitable kernel, however long it takes; later jobs use the results."`
	flags.Clobbering
	flags.Device
}

// Help is shown below the flags.
func (benchCmd) Help() string {
	return `bench first measures the roofline, the device's peak: multiply-adds in registers, a copy, and matrix products if it has matrix units. Then it measures operations at the models' widths, layers of whole decodes, and whole decodes and encodes, each in GFLOP/s, GB/s and percent of the roofline. FLOPs are those of the recorded commands, two per multiply-add; traffic counts every operand once. Operations report their best run after a warm-up. Frames are as large as the time allows.

    tessera bench
    tessera bench ops --precision f16
    tessera bench decode -m wan2.1 --size 832x480 --frames 81 --tile auto
    tessera bench --seconds 300 --report my-card.md`
}

// Validate refuses invalid times and report names.
func (c *benchCmd) Validate() error {
	if !(c.Seconds >= 1) || c.Seconds > 1e5 {
		return fmt.Errorf("--seconds=%v: expected 1 to 100000", c.Seconds)
	}
	if ext := strings.ToLower(filepath.Ext(c.Report)); c.Report != "" && ext != ".md" && ext != ".json" {
		return fmt.Errorf("--report=%s: expected .md or .json", c.Report)
	}
	if c.Adapter.All || len(c.Adapter.List) > 1 {
		return errors.New("--adapter: bench measures one adapter, expected best or its number")
	}
	return nil
}

func (c *benchCmd) Run(a *app) error {
	out := files.Outputs{}
	if c.Report != "" {
		out = files.Outputs{files.Named("--report="+c.Report, c.Report)}
	}
	published := vae.IsPublished(c.Model)
	in := files.Inputs{files.Named("library", c.Dawn)}
	if c.Model != "" && !published {
		in = append(in, files.Named("checkpoint", c.Model))
	}
	if err := c.Begin(out, in); err != nil {
		return err
	}
	if c.Model != "" && !published {
		if _, err := a.machines.Check(a.ctx, c.Model, vae.Settings{Precision: vae.Precision(c.Precision), Force: true}); err != nil {
			return absent(c.Model, err)
		}
	}
	t := machine.Tuner(a.Terminal, c.NoTune, c.NoCache)
	dev, _, err := machine.OpenFaster(a.ctx, t, c.GPU())
	if err != nil {
		return job.Mark(err, job.ErrNoDevice)
	}
	defer dev.Close()
	if c.Kernels {
		t.Patient, t.Least, t.Compile = true, 1, time.Minute
	}
	o, err := c.what(dev.Info(), t)
	if err != nil {
		return err
	}
	o.Say = func(what string) { a.Note("measuring %s", what) }
	r, failed := bench.Run(a.ctx, dev, o)
	if r == nil {
		return failed
	}
	if r.Kernels, err = kernelLines(t, dev.Info()); err != nil {
		return err
	}
	b := programVersion()
	r.Version, r.System, r.Command = b.Version, b.System, c.line()
	if err := c.write(r); err != nil || failed != nil {
		return cmp.Or(failed, err)
	}
	if a.JSON {
		return a.Print(r)
	}
	for line := range strings.Lines(r.Markdown()) {
		a.Say("%s", strings.TrimRight(line, "\n"))
	}
	return nil
}

// what returns the options of the measurement.
func (c *benchCmd) what(info gpu.Info, t *tune.Tuner) (bench.Options, error) {
	o := bench.Options{
		Time: time.Duration(c.Seconds * float64(time.Second)), Precision: vae.Precision(c.Precision), Model: c.Model,
		Tile: (*tiling.Choice)(c.Tile), Models: c.KernelSettings(),
	}
	o.Models.Choose = t.Choose
	if c.Size != (flags.Pixels{}) {
		o.Frames, o.Height, o.Width = int(c.Frames), c.Size.H, c.Size.W
	}
	if c.Part != "all" {
		o.Parts = []string{c.Part}
	}
	elem, err := o.Precision.Elem(info)
	if err == nil {
		o.Kernels, err = t.Chosen(info, elem)
	}
	return o, err
}

// kernelLines describes the kernels on an adapter, one per line.
func kernelLines(t *tune.Tuner, info gpu.Info) (lines []string, err error) {
	all, err := t.Known(info)
	for _, p := range all.Verifications {
		lines = append(lines, p.String())
	}
	for _, k := range all.Trials {
		lines = append(lines, k.String())
	}
	return lines, err
}

// line returns the command line without folders.
func (c *benchCmd) line() string {
	line := fmt.Sprintf("tessera bench %s --seconds=%v --backend=%s --precision=%s", c.Part, c.Seconds, c.Backend, c.Precision)
	if c.Size != (flags.Pixels{}) {
		line += fmt.Sprintf(" --size=%v --frames=%d", c.Size, c.Frames)
	}
	if c.Tile != nil {
		line += fmt.Sprintf(" --tile=%v", tiling.Choice(*c.Tile))
	}
	if c.Kernels {
		line += " --every-kernel"
	}
	if c.NoTune {
		line += " --no-tune"
	}
	if c.NoFold {
		line += " --no-fold"
	}
	if c.Winograd != "auto" {
		line += " --winograd=" + c.Winograd
	}
	if c.Adapter.First() >= 0 {
		line += fmt.Sprintf(" --adapter=%d", c.Adapter.First())
	}
	if c.Model != "" {
		line += " --model=" + filepath.Base(c.Model)
	}
	return line
}

// write writes the report if --report names a file.
func (c *benchCmd) write(r *bench.Report) error {
	if c.Report == "" {
		return nil
	}
	text := []byte(r.Markdown())
	if strings.EqualFold(filepath.Ext(c.Report), ".json") {
		text, _ = json.MarshalIndent(r, "", "  ") // cannot fail for a report
	}
	return media.WriteFile(c.Report, text)
}
