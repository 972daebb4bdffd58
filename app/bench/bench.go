// Package bench measures how much of a device's peak the operations, layers and models
// reach: `tessera bench`. Start at Run; Report.Markdown formats its result for people.
package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/vae"
	"tessera/wgsl"
)

// Parts are the parts of a measurement.
var Parts = []string{"ops", "layers", "decode", "encode"}

// Options choose what to measure.
type Options struct {
	Parts     []string      // of Parts; nil is all
	Time      time.Duration // for the whole run, about
	Precision vae.Precision
	Frames    int // of the clips, with Height and Width; 0: as many as the time allows
	Height    int
	Width     int
	Tile      *tiling.Choice     // nil: the program's default
	Models    vae.KernelSettings // of the models
	Kernels   wgsl.Choices       // of the operations
	Model     string             // a checkpoint, or a family with random weights; "" for SeedVR2 and Wan 2.1
	Say       func(string)       // receives what is measured next
}

// Report is the result of a measurement; its JSON is for machines.
type Report struct {
	Version  string   `json:"version"` // or commit
	System   string   `json:"system"`
	Command  string   `json:"command"`
	Adapter  string   `json:"adapter"`
	Driver   string   `json:"driver"`
	Backend  string   `json:"backend"`
	Type     string   `json:"type"`
	Dawn     string   `json:"dawn"` // file name of the library
	F16      bool     `json:"f16"`
	Stamps   bool     `json:"timestamps"` // the adapter timed operations and layers, otherwise the host did
	Storage  string   `json:"storage"`    // of activations; sums are f32
	Roofline Roofline `json:"roofline"`
	Ops      []Op     `json:"ops,omitempty"`
	Jobs     []Job    `json:"jobs,omitempty"`
	Kernels  []string `json:"kernels,omitempty"` // verifications and trials on this adapter
	Missing  string   `json:"missing,omitempty"` // why the rest was not measured
	Busy     string   `json:"busy,omitempty"`    // sign that the device did other work meanwhile
	Seconds  float64  `json:"seconds"`           // for the whole run
}

// Run measures the parts of o. After an error it returns what was measured before, or nil
// if nothing was.
func Run(ctx context.Context, dev *gpu.Device, o Options) (*Report, error) {
	begun, info := time.Now(), dev.Info()
	elem, err := o.Precision.Elem(info)
	if err != nil {
		return nil, err
	}
	set, err := wgsl.NewSet(elem, info, o.Kernels)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Adapter: info.Name, Driver: info.Driver, Backend: info.Backend, Type: info.Type, Dawn: dawn(info.Library),
		F16: info.F16, Stamps: info.Timestamps, Storage: elem.String(),
	}
	if o.Parts == nil {
		o.Parts = Parts
	}
	share := o.Time / time.Duration(1+2*len(o.Parts))
	o.Say("roofline")
	var t turns // but not of models, which are planned and compiled on several threads
	if err = t.during(func() error { r.Roofline, err = MeasureRoofline(ctx, dev, share); return err }); err != nil {
		return nil, err
	}
	if err = t.during(func() error { return r.operations(ctx, dev, set, o, 2*share) }); err == nil {
		err = r.models(ctx, dev, o, 2*share)
	}
	var again Roofline
	if err == nil {
		o.Say("roofline again")
		err = t.during(func() (err error) { again, err = MeasureRoofline(ctx, dev, share/2); return err })
	}
	if err == nil {
		r.Busy = busy(info.Type == "cpu", t, r.Roofline, again)
		r.Roofline = r.Roofline.best(again)
	}
	r.compare()
	if err != nil {
		r.Missing = err.Error()
	}
	r.Seconds = time.Since(begun).Seconds()
	return r, err
}

// operations measures the operations within the time of one part.
func (r *Report) operations(ctx context.Context, dev *gpu.Device, set *wgsl.Set, o Options, patience time.Duration) error {
	if !slices.Contains(o.Parts, "ops") {
		return nil
	}
	for i := range opCases {
		c, patience := &opCases[i], patience/time.Duration(len(opCases))
		o.Say(c.name + " " + c.of)
		op, err := c.run(ctx, dev, set, c.side(r.Roofline, patience), patience)
		if err != nil {
			return err
		}
		r.Ops = append(r.Ops, op)
	}
	return nil
}

// compare computes the shares of the roofline.
func (r *Report) compare() {
	roof := r.Roofline
	for i := range r.Ops {
		r.Ops[i].compare(roof)
	}
	for i := range r.Jobs {
		j := &r.Jobs[i]
		if j.Seconds > 0 {
			j.Share = roof.share(j.FLOPs, j.Bytes, j.Seconds)
		}
		for k := range j.Layers {
			j.Layers[k].compare(roof)
		}
	}
}

// dawn names a library without the user's folders.
func dawn(path string) string {
	name, folder := filepath.Base(path), filepath.Base(filepath.Dir(path))
	if regexp.MustCompile(`^dawn-[0-9a-f-]+$`).MatchString(folder) {
		return folder + "/" + name
	}
	return name
}

// models measures whole models within the time of one part.
func (r *Report) models(ctx context.Context, dev *gpu.Device, o Options, patience time.Duration) error {
	layers := slices.Contains(o.Parts, "layers")
	var ops []string
	for _, op := range []string{"decode", "encode"} {
		if layers && op == "decode" || slices.Contains(o.Parts, op) {
			ops = append(ops, op)
		}
	}
	if ops == nil {
		return nil
	}
	all := sources(o)
	for _, from := range all {
		m, err := from.open(dev)
		if err != nil {
			return err
		}
		s := &subject{ctx: ctx, dev: dev, model: m, name: from.name, sizes: sizes, options: options}
		if o.Tile != nil {
			s.options.Tile = *o.Tile
		}
		if o.Frames > 0 {
			s.sizes, s.asked = []size{{o.Frames, o.Height, o.Width}}, true
		}
		for _, op := range ops {
			o.Say(s.name + " " + op)
			j, err := s.run(op, patience/time.Duration(len(all)), layers)
			if err != nil {
				m.Close()
				return fmt.Errorf("bench: %s %s: %w", s.name, op, err)
			}
			r.Jobs = append(r.Jobs, j)
		}
		if err := m.Close(); err != nil {
			return err
		}
	}
	return nil
}

// sources returns the requested checkpoint or family; by default the first two families,
// because the third has the second's kind of network.
func sources(o Options) (all []source) {
	settings := vae.Settings{Precision: o.Precision, Force: true, Kernels: o.Models}
	names := vae.Families()[:2]
	switch {
	case vae.IsPublished(o.Model):
		names = []string{o.Model}
	case o.Model != "":
		return []source{{filepath.Base(o.Model), func(dev *gpu.Device) (*vae.Model, error) { return vae.Open(dev, o.Model, settings) }}}
	}
	for _, name := range names {
		all = append(all, source{name, func(dev *gpu.Device) (*vae.Model, error) { return vae.OpenPublished(dev, name, settings) }})
	}
	return all
}
