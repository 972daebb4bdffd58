package api

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"tessera/app/job"
	"tessera/gpu"
	"tessera/latent"
	"tessera/vae"
)

// turn is a client's time with the device and a model.
type turn struct {
	api    *API
	client string
	ctx    context.Context
	dev    *gpu.Device
	model  *model
	open   *vae.Model
	watch  vae.Watch
}

// during waits for the device and calls work with it.
func (a *API) during(ctx context.Context, client string, m *model, watch vae.Watch, work func(*turn) error) (err error) {
	dev, err := a.host.Turn(ctx, client)
	if err != nil {
		return err
	}
	begun := time.Now()
	defer func() {
		a.host.Done(err)
		a.places.took(time.Since(begun))
		a.metrics.device.WithLabelValues(m.name).Observe(time.Since(begun).Seconds())
	}()
	defer a.caught(&err)
	t := &turn{api: a, client: client, ctx: ctx, dev: dev, model: m, watch: watch}
	if t.open, err = a.models.on(dev, m); err != nil {
		return err
	}
	return work(t)
}

// caught turns a panic into an error.
func (a *API) caught(err *error) {
	if r := recover(); r != nil {
		a.o.Log(fmt.Sprintf("panic: %v\n%s", r, debug.Stack()))
		*err = ErrPanic
	}
}

// decode passes the frames of each clip of a latent to take.
func (t *turn) decode(d job.Decoding, take func(clip int, f vae.Frame) error) error {
	return d.Run(t.ctx, t.open, t.watch, func(p *vae.DecodePlan) error {
		t.api.models.room(t.dev, t.model, p.Plan)
		return nil
	}, func(i int, f vae.Frame) error {
		t.api.metrics.frames.WithLabelValues(t.model.name, kindDecode).Inc()
		return take(i, f)
	})
}

// encode encodes a clip.
func (t *turn) encode(e job.Encoding, c vae.Clip) (latent.Latent, error) {
	done := func() {}
	defer func() { done() }()
	z, err := e.Run(t.ctx, t.open, c, t.watch, func(p *vae.EncodePlan) error {
		end, err := t.held(c, p.Reads())
		if err != nil {
			return err
		}
		done = end
		t.api.models.room(t.dev, t.model, p.Plan)
		return nil
	})
	if err == nil {
		t.api.metrics.frames.WithLabelValues(t.model.name, kindEncode).Add(float64(c.Frames()))
	}
	return z, err
}
