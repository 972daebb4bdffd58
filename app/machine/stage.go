package machine

import (
	"context"
	"fmt"
	"time"

	"tessera/app/job"
	"tessera/app/report"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// Taker receives a decode: the frames of a clip, then its end.
type Taker interface {
	Take(vae.Frame) error
	End() error
}

// TakerFunc receives the frames of one clip.
type TakerFunc func(vae.Frame) error

// Take calls f.
func (f TakerFunc) Take(v vae.Frame) error { return f(v) }

// End does nothing.
func (f TakerFunc) End() error { return nil }

// Keeper is a Taker that stores progress, so that a later decode can continue from there.
type Keeper interface {
	Taker
	vae.Keeper
	Began() int // number of frames stored before
}

// PlanDecode plans the decode of a clip.
func (e *Machine) PlanDecode(ctx context.Context, d job.Decoding) (*vae.DecodePlan, error) {
	var plan *vae.DecodePlan
	err := e.layOut("decode", d.Options.Options, func(with vae.Options) (p *vae.Plan, err error) {
		d.Options.Options = with
		if plan, err = d.Plan(ctx, e.Model); err != nil {
			return nil, err
		}
		return plan.Plan, nil
	})
	if err != nil {
		return nil, err
	}
	return plan, e.expect(ctx, "decode", plan.Plan, d.Latent.Clips())
}

// Decode runs the decoder on one clip after another, passes the frames to t, and measures
// the stage.
func (e *Machine) Decode(ctx context.Context, plan *vae.DecodePlan, d job.Decoding, t Taker) (*report.Stage, error) {
	profiled, err := e.profile(ctx, "decode")
	if err != nil {
		return nil, err
	}
	var took time.Duration
	clips := d.Latent.Clips()
	made := clips * d.Clip.Frames
	for i := range clips {
		name := "decode"
		if clips > 1 {
			name = fmt.Sprintf("decode %d/%d", i+1, clips)
		}
		share := 1.0
		p := e.Stage(name, d.Whole).On(e.Device)
		defer p.Done()
		watch := vae.Watch{Loading: p.Loading, Compiling: p.Compiling, Progress: p.Update, Lost: e.lost, Less: e.less(name)}
		if k, ok := t.(Keeper); ok {
			watch.Keep = k
			made -= k.Began()
			share -= float64(k.Began()) / float64(d.Clip.Frames)
			p.From(1 - share)
		}
		p.Expect(time.Duration(share * float64(e.expected["decode"])))
		h := queueFrames(t)
		for f, err := range plan.Run(ctx, d.Latent.Clip(i), watch) {
			if err == nil {
				err = h.take(f)
			}
			if err != nil {
				h.end() // report the first error only
				return nil, err
			}
		}
		if err := h.end(); err != nil {
			return nil, err
		}
		took += p.Done()
		e.learn("decode", plan.Plan, share, p.Worked())
		if err := t.End(); err != nil {
			return nil, err
		}
	}
	return report.NewStage(plan.Plan, made, took), profiled()
}

// PlanEncode plans the encode of a clip.
func (e *Machine) PlanEncode(ctx context.Context, o job.Encoding) (*vae.EncodePlan, error) {
	var plan *vae.EncodePlan
	err := e.layOut("encode", o.Options.Options, func(with vae.Options) (p *vae.Plan, err error) {
		o.Options.Options = with
		if plan, err = o.Plan(ctx, e.Model); err != nil {
			return nil, err
		}
		return plan.Plan, nil
	})
	if err != nil {
		return nil, err
	}
	return plan, e.expect(ctx, "encode", plan.Plan, 1)
}

// Encode runs the encoder and measures the stage.
func (e *Machine) Encode(ctx context.Context, plan *vae.EncodePlan, clip media.Clip, o job.Encoding) (latent.Latent, *report.Stage, error) {
	profiled, err := e.profile(ctx, "encode")
	if err != nil {
		return latent.Latent{}, nil, err
	}
	p := e.Stage("encode", o.Padded.Frames).On(e.Device).Expect(e.expected["encode"])
	defer p.Done()
	z, err := plan.Collect(ctx, clip, vae.Watch{Loading: p.Loading, Compiling: p.Compiling, Progress: p.Update, Lost: e.lost, Less: e.less("encode")})
	if err != nil {
		return latent.Latent{}, nil, err
	}
	z.Meta = o.Meta
	e.learn("encode", plan.Plan, 1, p.Worked())
	return z, report.NewStage(plan.Plan, clip.Frames(), p.Done()), profiled()
}

// profile starts a stage's profile if one was requested. Call end once the stage is done.
func (e *Machine) profile(ctx context.Context, stage string) (end func() error, err error) {
	if !e.profiling {
		return func() error { return nil }, nil
	}
	p, err := e.Device.Profile(ctx)
	if err != nil {
		return nil, err
	}
	return func() error {
		if err := p.End(ctx); err != nil {
			return err
		}
		e.Profiles = append(e.Profiles, report.NewProfile(stage, p))
		return nil
	}, nil
}
