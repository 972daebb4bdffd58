package vae

import (
	"context"
	"fmt"
	"iter"

	"tessera/engine"
	"tessera/engine/runner"
	"tessera/wgsl"
)

// Clip is a video to encode. Each tile may read its frames again.
type Clip interface {
	Frames() int
	Size() (height, width int)
	// Channels returns the channels of a pixel, those of Config.
	Channels() int
	// ReadFrame fills dst, [H, W, Channels] in [-1, 1], with frame t.
	ReadFrame(t int, dst []float32) error
}

// EncodeOptions choose an encode's output.
type EncodeOptions struct {
	Options
	Moments bool   // mean and log-variance, unscaled, instead of a latent
	Sample  bool   // draw from the distribution; otherwise use its mean
	Seed    uint64 // of Sample
}

// LatentFrame is one frame of a latent. Data is valid until the next one.
type LatentFrame struct {
	Index                   int // from 0
	Channels, Height, Width int
	Data                    []float32 // [Channels, Height, Width]
}

// EncodePlan is a plan for encoding a clip. It can run any number of times.
type EncodePlan struct {
	*Plan
	model  *Model
	config Config // with EncodeOptions.As applied
	in     [3]int // frames, height and width of the clip
	o      EncodeOptions
	job    func(m *Model) *engine.Job

	workers []*runner.Worker
}

// Padded returns the clip's frames and size as the encoder sees them: PaddedFrames,
// with the end mirrored, unless frames are independent, and multiples of a latent
// cell's pixels, with the last row and column repeated. Networks for any size get
// multiples of a patch.
func (m *Model) Padded(frames, height, width int, independent bool) (int, int, int) {
	grid := m.Config.Grid()
	if !independent {
		frames = m.Config.PaddedFrames(frames)
	}
	if m.family.anySize {
		grid = m.Config.Patch
	}
	return frames, (height + grid - 1) / grid * grid, (width + grid - 1) / grid * grid
}

// PaddedFrames is the padded length of a clip of n frames: 4k+1; with cycles, as in
// MiniMax-H3, whole cycles and two latent frames more; with batches, as in CogVideoX, 8k
// or 8k+1.
func (c *Config) PaddedFrames(n int) int {
	if batch := c.Full * c.Temporal; batch > 0 {
		if n%batch == 1 {
			return n
		}
		return (n + batch - 1) / batch * batch
	}
	least, step := 1, c.Temporal
	if c.Cycle > 0 {
		least, step = 1+c.Temporal, 1+(c.Cycle-1)*c.Temporal
	}
	return least + (max(0, n-least)+step-1)/step*step
}

// PlanEncode plans encoding a clip of frames of height x width pixels, padded as
// Padded says, without running it. Its errors are those of PlanDecode, ErrBadModel for
// a file without an encoder, and an error for moments of a model without them.
func (m *Model) PlanEncode(ctx context.Context, frames, height, width int, o EncodeOptions) (*EncodePlan, error) {
	if frames < 1 || height < 1 || width < 1 {
		return nil, fmt.Errorf("vae: clip of %d frames of %dx%d pixels, expected at least one of each", frames, width, height)
	}
	if err := m.Config.Can("encode"); err != nil {
		return nil, err
	}
	if m.family.means && (o.Moments || o.Sample) {
		return nil, fmt.Errorf("vae: %s produces latents, not distributions, so it has no moments and no sample", m.Config.Model)
	}
	config, err := m.as(o.As)
	if err != nil {
		return nil, err
	}
	out := engine.Output{Seed: o.Seed}
	if o.Sample && !o.Moments {
		out.Form = engine.Draws
	}
	t, h, w := m.Padded(frames, height, width, o.Independent)
	if !o.Independent {
		t = config.PaddedFrames(frames)
	}
	job := func(m *Model) *engine.Job {
		j := m.job(m.encoder, t, h, w, o.Independent, out)
		j.Full = config.Encoding().Full
		if !o.Sample && !o.Moments {
			j.OutChannels = m.Config.Latent // the means come first
		}
		return j
	}
	p, workers, err := m.plan(ctx, job, o.Options)
	if err != nil {
		return nil, err
	}
	return &EncodePlan{p, m, config, [3]int{frames, height, width}, o, job, workers}, nil
}

// Encode plans, runs and gathers the frames.
func (m *Model) Encode(ctx context.Context, clip Clip, o EncodeOptions) (Latent, error) {
	height, width := clip.Size()
	p, err := m.PlanEncode(ctx, clip.Frames(), height, width, o)
	if err != nil {
		return Latent{}, err
	}
	return p.Collect(ctx, clip, Watch{})
}

// Collect runs the plan and returns the frames as one latent.
func (p *EncodePlan) Collect(ctx context.Context, clip Clip, w Watch) (Latent, error) {
	z := Latent{Channels: p.channels(), Frames: p.Frames, Height: p.Tiles.Out.H, Width: p.Tiles.Out.W}
	cells := z.Height * z.Width
	z.Data = make([]float32, z.Channels*z.Frames*cells)
	for f, err := range p.Run(ctx, clip, w) {
		if err != nil {
			return Latent{}, err
		}
		for c := range z.Channels {
			copy(z.Data[(c*z.Frames+f.Index)*cells:], f.Data[c*cells:][:cells])
		}
	}
	return z, nil
}

// channels returns the output's channels.
func (p *EncodePlan) channels() int {
	if p.o.Moments {
		return 2 * p.model.Config.Latent
	}
	return p.model.Config.Latent
}

// Run runs the encoder on a clip of the planned size and yields the latent's
// frames in order, each as soon as no later tile can change it. It ends at the
// first error; leaving the loop early stops the work. Errors come from the clip,
// the device or the context, or are ErrOverflow.
func (p *EncodePlan) Run(ctx context.Context, clip Clip, w Watch) iter.Seq2[LatentFrame, error] {
	return func(yield func(LatentFrame, error) bool) {
		m := p.model
		if err := p.check(clip); err != nil {
			yield(LatentFrame{}, err)
			return
		}
		f := LatentFrame{Channels: p.channels(), Height: p.Tiles.Out.H, Width: p.Tiles.Out.W}
		f.Data = make([]float32, f.Channels*f.Height*f.Width)
		watch := runner.Watch{Compiling: w.Compiling, Progress: w.Progress, Lost: m.lost(w)}
		for band, err := range m.bands(ctx, &p.Plan, &p.workers, p.job, &p.o.Options, p.pixels(clip), watch, &w) {
			if err != nil {
				yield(LatentFrame{}, m.explain(err))
				return
			}
			p.take(&f, band)
			if band.Last && !yield(f, nil) {
				return
			}
		}
	}
}

// pixels returns the plan's input.
func (p *EncodePlan) pixels(clip Clip) *pixels {
	in := newPixels(clip, p.model)
	if p.o.Independent {
		in.cycle = min(in.cycle, 1)
		if p.model.family.groups {
			in.picture = p.model.Config.Temporal
		}
	}
	return in
}

// check refuses a clip that is not of the planned size.
func (p *EncodePlan) check(clip Clip) error {
	if clip.Channels() != p.model.Config.Channels {
		return fmt.Errorf("vae: clip has %d channels in a pixel, %s has %d", clip.Channels(), p.model.file.Name(), p.model.Config.Channels)
	}
	h, w := clip.Size()
	if got := [3]int{clip.Frames(), h, w}; got != p.in {
		return fmt.Errorf("vae: clip of %d frames of %dx%d pixels, but the plan is for %d of %dx%d", got[0], w, h, p.in[0], p.in[2], p.in[1])
	}
	return nil
}

// take copies a band to its place, in the pipeline's scale.
func (p *EncodePlan) take(f *LatentFrame, b runner.Band) {
	f.Index = b.Frame
	pad := wgsl.Pad4(f.Channels)
	for c := range f.Channels {
		for r := range b.Rows {
			scale, mean := p.config.network(c, b.Frame, b.Y+r, p.o.Moments || p.o.Unscaled)
			row := f.Data[(c*f.Height+b.Y+r)*f.Width:][:f.Width]
			for q := range row {
				row[q] = float32((float64(b.Floats[(r*b.Width+q)*pad+c]) - mean[q%2]) * scale[q%2])
			}
		}
	}
}
