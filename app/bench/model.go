package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tessera/gpu"
	"tessera/latent"
	"tessera/tiling"
	"tessera/vae"
)

// Job is the result of a whole decode or encode. Its time does not include weights.
type Job struct {
	Model       string  `json:"model"`
	Op          string  `json:"op"` // decode or encode
	Frames      int     `json:"frames"`
	Height      int     `json:"height"`
	Width       int     `json:"width"`
	Seconds     float64 `json:"seconds,omitempty"`
	FLOPs       int64   `json:"flops"`
	Bytes       int64   `json:"bytes"`                // if each command moved each operand once
	Share       float64 `json:"share,omitempty"`      // of the roofline
	Busy        float64 `json:"busy_share,omitempty"` // share of a run's time in which the device worked; with layers, where timestamps exist
	First       float64 `json:"first_seconds"`        // of the run before, with compilation and weights
	PeakBytes   int64   `json:"peak_device_bytes"`    // including weights
	Submissions int     `json:"submissions"`          // number of submissions
	Missing     string  `json:"missing,omitempty"`    // why it was not measured
	Layers      []Op    `json:"layers,omitempty"`     // in the order of the network
}

// size is a clip to measure.
type size struct{ frames, height, width int }

// sizes are the clips, starting with what the slowest adapter can do.
var sizes = []size{{1, 32, 32}, {5, 32, 32}, {5, 64, 64}, {17, 64, 64}, {17, 128, 128}, {17, 256, 256}, {17, 512, 512}, {17, 720, 1280}}

// source is a model to measure, opened on a device.
type source struct {
	name string
	open func(dev *gpu.Device) (*vae.Model, error)
}

// subject is a model under measurement.
type subject struct {
	ctx     context.Context
	dev     *gpu.Device
	model   *vae.Model
	name    string
	sizes   []size // of clips, the smallest first
	options vae.Options
	asked   bool // the user asked for these sizes and will wait
}

// plan plans one direction.
func (s *subject) plan(op string, z size) (*vae.Plan, func() error, error) {
	c := s.model.Config
	if op == "encode" {
		p, err := s.model.PlanEncode(s.ctx, z.frames, z.height, z.width, vae.EncodeOptions{Options: s.options})
		if err != nil {
			return nil, nil, err
		}
		return p.Plan, func() error { _, err := p.Collect(s.ctx, &clip{z, c.Channels}, vae.Watch{}); return err }, nil
	}
	in := latent.Latent{Channels: c.Latent, Frames: c.Encoding().Frames(c.PaddedFrames(z.frames), false), Height: up(z.height, c.Decoded()), Width: up(z.width, c.Decoded())}
	p, err := s.model.PlanDecode(s.ctx, in.Frames, in.Height, in.Width, vae.DecodeOptions{Options: s.options, RGBA8: true, Frames: z.frames, Height: z.height, Width: z.width})
	if err != nil {
		return nil, nil, err
	}
	in.Data = make([]float32, in.Channels*in.Frames*in.Height*in.Width)
	noise(in.Data)
	return p.Plan, func() error {
		for _, err := range p.Run(s.ctx, in, vae.Watch{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// up returns n/step, rounded up.
func up(n, step int) int { return (n + step - 1) / step }

// options are the program's defaults: tiles of the default size, or smaller if that does
// not fit.
var options = vae.Options{
	Tile: tiling.Choice{Tile: tiling.Square(tiling.DefaultTile)}, Overlap: tiling.Square(tiling.DefaultOverlap), Shrink: true, Chunk: vae.AutoChunk,
}

// run measures the largest clip that runs often enough in the time.
func (s *subject) run(op string, patience time.Duration, layers bool) (Job, error) {
	speed, err := s.model.Speed(s.ctx)
	if err != nil {
		return Job{}, err
	}
	j, runs := Job{Model: s.name, Op: op}, 2.0
	if err := s.model.Config.Can(op); err != nil {
		j.refuse(true, err.Error())
		return j, nil
	}
	if layers {
		runs++
	}
	var run func() error
	for _, z := range s.sizes {
		plan, do, err := s.plan(op, z)
		if err != nil {
			if run == nil && !fits(err) {
				return j, err
			}
			j.refuse(run == nil, err.Error())
			break
		}
		if expected := runs * float64(plan.Cost.FLOPs) / speed; expected > patience.Seconds() && !s.asked {
			j.refuse(run == nil, fmt.Sprintf("%d frames of %dx%d would take about %.0f s, the limit is %.0f s", z.frames, z.width, z.height, expected, patience.Seconds()))
			break
		}
		run = do
		j.Frames, j.Height, j.Width = z.frames, z.height, z.width
		j.FLOPs, j.Bytes = plan.Cost.FLOPs, plan.Cost.Bytes
	}
	if run == nil {
		return j, nil
	}
	return j, s.measure(&j, run, layers)
}

// refuse says why nothing was measured.
func (j *Job) refuse(all bool, why string) {
	if all {
		j.Missing = why
	}
}

// fits reports whether an error says that something is too large.
func fits(err error) bool { return errors.Is(err, gpu.ErrTooLarge) || errors.Is(err, vae.ErrMemory) }

// measure runs twice, and with layers a third time with a profile.
func (s *subject) measure(j *Job, run func() error, layers bool) (err error) {
	s.dev.ResetPeaks()
	if j.First, err = timed(run); err != nil {
		return err
	}
	before := s.dev.Stats().Submissions
	if j.Seconds, err = timed(run); err != nil {
		return err
	}
	j.Submissions, j.PeakBytes = s.dev.Stats().Submissions-before, s.dev.Stats().PeakBytes
	if !layers {
		return nil
	}
	p, err := s.dev.Profile(s.ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(run(), p.End(s.ctx)); err != nil {
		return err
	}
	if p.Queried {
		j.Busy, j.Layers = p.Busy().Seconds()/p.Wall.Seconds(), layersOf(p)
	}
	return nil
}

// timed returns the time of run in seconds.
func timed(run func() error) (float64, error) {
	begun := time.Now()
	err := run()
	return time.Since(begun).Seconds(), err
}

// layersOf sums a profile by layer.
func layersOf(p *gpu.Profile) []Op {
	var all []Op
	at := map[string]int{}
	for i := range p.Pieces {
		for j := range p.Pieces[i].Commands {
			r := &p.Pieces[i].Commands[j]
			k, ok := at[r.Command.Label]
			if !ok {
				k = len(all)
				at[r.Command.Label], all = k, append(all, Op{Name: r.Command.Label})
			}
			all[k].Seconds += r.Time().Seconds()
			all[k].FLOPs += r.Cost.FLOPs
			all[k].Bytes += r.Cost.Bytes
		}
	}
	return all
}

// clip is a video of noise.
type clip struct {
	size
	channels int
}

func (c *clip) Frames() int      { return c.frames }
func (c *clip) Size() (int, int) { return c.height, c.width }
func (c *clip) Channels() int    { return c.channels }

// ReadFrame returns the same noise for every frame.
func (c *clip) ReadFrame(_ int, dst []float32) error {
	noise(dst)
	return nil
}

// noise fills v with uniform noise in [-1, 1).
func noise(v []float32) {
	state := uint32(1)
	for i := range v {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		v[i] = float32(int32(state)) * 0x1p-31
	}
}
