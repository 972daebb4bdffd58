package vae

import (
	"context"
	"fmt"
	"iter"

	"tessera/engine"
	"tessera/engine/runner"
)

// DecodeOptions choose a decode's output.
type DecodeOptions struct {
	Options
	RGBA8   bool // 8-bit frames, with the model's alpha or opaque; otherwise floats
	Preview bool // call Watch.Preview with the tiles
	// Frames, Height and Width trim the clip to its size before it was padded for
	// encoding, in frames and pixels; 0 keeps everything.
	Frames, Height, Width int
}

// Frame is one decoded frame. Its pixels are valid until the next one.
type Frame struct {
	Index         int // from 0
	Height, Width int
	Pixels        []float32 // [H, W, Config.Channels], -1 black to 1 white; nil with RGBA8
	RGBA          []byte    // [H, W, 4], with RGBA8
}

// DecodePlan is a plan for decoding a latent. It can run any number of times.
type DecodePlan struct {
	*Plan
	model  *Model
	config Config // with DecodeOptions.As applied
	in     [3]int // frames, height and width of the latent
	o      DecodeOptions
	job    func(m *Model) *engine.Job

	workers []*runner.Worker
}

// PlanDecode plans decoding a latent of frames of height x width cells, without
// running it; ctx can end it early. It returns ErrMemory or tiling.ErrBudget for a job
// that exceeds the budget, gpu.ErrTooLarge for one that exceeds the adapter's limits,
// ErrTiling, tiling.ErrTile and tiling.ErrOverlap for invalid options, and ErrBadModel
// for a file without a decoder.
func (m *Model) PlanDecode(ctx context.Context, frames, height, width int, o DecodeOptions) (*DecodePlan, error) {
	if frames < 1 || height < 1 || width < 1 {
		return nil, fmt.Errorf("vae: latent of %d frames of %dx%d cells, expected at least one of each", frames, width, height)
	}
	if err := m.Config.Can("decode"); err != nil {
		return nil, err
	}
	config, err := m.as(o.As)
	if err != nil {
		return nil, err
	}
	out := engine.Output{Frames: o.Frames, Height: o.Height, Width: o.Width, Preview: o.Preview && m.family.previews}
	if o.RGBA8 && m.Config.Channels == 3 { // the device makes opaque pixels only
		out.Form = engine.RGBA8
	}
	job := func(m *Model) *engine.Job {
		j := m.job(m.decoder, frames, height, width, o.Independent, out)
		j.Full = config.Decoding().Full
		return j
	}
	p, workers, err := m.plan(ctx, job, o.Options)
	if err != nil {
		return nil, err
	}
	return &DecodePlan{p, m, config, [3]int{frames, height, width}, o, job, workers}, nil
}

// Decode plans and runs at once.
func (m *Model) Decode(ctx context.Context, z Latent, o DecodeOptions) iter.Seq2[Frame, error] {
	p, err := m.PlanDecode(ctx, z.Frames, z.Height, z.Width, o)
	if err != nil {
		return func(yield func(Frame, error) bool) { yield(Frame{}, err) }
	}
	return p.Run(ctx, z, Watch{})
}

// Run runs the decoder on a latent of the planned size and yields the clip's
// frames in order, each as soon as no later tile can change it. It ends at the
// first error; leaving the loop early stops the work. Errors come from the
// device or the context, or are ErrOverflow.
func (p *DecodePlan) Run(ctx context.Context, z Latent, w Watch) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		m := p.model
		if err := p.check(z); err != nil {
			yield(Frame{}, err)
			return
		}
		f := p.frame()
		watch := runner.Watch{Compiling: w.Compiling, Progress: w.Progress, Preview: w.Preview, Lost: m.lost(w), Keep: w.Keep}
		for band, err := range m.bands(ctx, &p.Plan, &p.workers, p.job, &p.o.Options, &cells{z, &p.config, p.o.Unscaled}, watch, &w) {
			if err != nil {
				yield(Frame{}, m.explain(err))
				return
			}
			f.take(band)
			if band.Last && !yield(f.Frame, nil) {
				return
			}
		}
	}
}

// check refuses a latent that is not of the planned size.
func (p *DecodePlan) check(z Latent) error {
	if z.Channels != p.model.Config.Latent {
		return fmt.Errorf("vae: latent has %d channels, %s has %d", z.Channels, p.model.file.Name(), p.model.Config.Latent)
	}
	if got := [3]int{z.Frames, z.Height, z.Width}; got != p.in {
		return fmt.Errorf("vae: latent of %d frames of %dx%d cells, but the plan is for %d of %dx%d", got[0], got[2], got[1], p.in[0], p.in[2], p.in[1])
	}
	return nil
}

// unfinished is a frame assembled from bands.
type unfinished struct {
	Frame
	c     int  // channels of a pixel
	clamp bool // limit floats to [-1, 1]
	rgba  bool // converted from floats
}

// frame returns an empty frame for the plan's output.
func (p *DecodePlan) frame() *unfinished {
	m := p.model
	f := &unfinished{
		Frame: Frame{Height: p.Output().Height, Width: p.Output().Width},
		c:     m.Config.Channels, clamp: m.family.clamps && !p.o.Unscaled, rgba: p.o.RGBA8 && p.Output().Form != engine.RGBA8,
	}
	if p.o.RGBA8 {
		f.RGBA = make([]byte, 4*f.Height*f.Width)
	} else {
		f.Pixels = make([]float32, f.c*f.Height*f.Width)
	}
	return f
}

// take copies a band to its place.
func (f *unfinished) take(b runner.Band) {
	f.Index = b.Frame
	if b.RGBA != nil {
		copy(f.RGBA[4*b.Y*f.Width:], b.RGBA)
		return
	}
	for r := range b.Rows {
		for q := range f.Width {
			at := (b.Y+r)*f.Width + q
			for i, v := range b.Floats[(r*b.Width+q)*4:][:f.c] {
				if f.clamp || f.rgba {
					v = min(max(v, -1), 1)
				}
				if f.rgba {
					f.RGBA[4*at+i] = byte((v+1)*127.5 + 0.5)
				} else {
					f.Pixels[f.c*at+i] = v
				}
			}
		}
	}
}
