package machine

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"tessera/app/interrupt"
	"tessera/app/terminal"
	"tessera/gpu"
	"tessera/vae"
)

// telling is how long a job must run before it says how fast the adapter is.
const telling = 3 * time.Second

// Duration estimates how long a plan of m takes on a, the adapter that o opens. It uses
// the stored speed of the last long jobs of such a network there, else a convolution,
// which is measured once. 0 is unknown.
func Duration(ctx context.Context, o gpu.Options, a gpu.Info, m *vae.Model, precision vae.Precision, stage string, p *vae.Plan) time.Duration {
	if o.NoCache {
		return 0 // without a cache it would be measured for every job
	}
	speed := stored(a, network(m, a, precision, stage))
	if speed == 0 {
		speed = measured(ctx, o, a, precision)
	}
	if speed == 0 {
		return 0
	}
	tiles := len(p.Tiles.Tiles)
	own := tiles
	for _, h := range p.Helpers {
		own -= h.Tiles
	}
	return time.Duration(float64(p.Cost.FLOPs) / speed * float64(own) / float64(tiles) * float64(time.Second))
}

// measured returns the speed of convolutions, measured on a separate device, so that the
// job's memory statistics do not include it. 0: the measurement failed.
func measured(ctx context.Context, o gpu.Options, a gpu.Info, precision vae.Precision) float64 {
	about := "speed of convolutions in " + storage(a, precision)
	if speed := stored(a, about); speed > 0 {
		return speed
	}
	speed, err := interrupt.Await(ctx, func() (float64, error) {
		dev, err := OpenDevice(o)
		if err != nil {
			return 0, err
		}
		defer dev.Close()
		return vae.Speed(ctx, dev, precision)
	})
	if err != nil {
		return 0
	}
	store(a, about, speed)
	return speed
}

// network names a network, storage and stage whose speed is stored separately.
func network(m *vae.Model, a gpu.Info, precision vae.Precision, stage string) string {
	widths := m.Config.Decoder
	if stage == "encode" {
		widths = m.Config.Widths
	}
	return fmt.Sprintf("speed of %s, %s of %v, in %s", stage, m.Config.Family, widths, storage(a, precision))
}

// storage names the storage that a precision means on an adapter.
func storage(a gpu.Info, precision vae.Precision) string {
	elem, err := precision.Elem(a)
	if err != nil {
		return ""
	}
	return elem.String()
}

// precision returns the precision of the machine's model.
func (e *Machine) precision() vae.Precision {
	if e.Model.Elem.Bytes() == 4 {
		return vae.F32
	}
	return vae.F16
}

// stored returns a stored speed, 0 without one.
func stored(a gpu.Info, about string) float64 {
	speed, err := strconv.ParseFloat(string(gpu.LoadResult(a, about)), 64)
	if err != nil || !(speed > 0) {
		return 0
	}
	return speed
}

func store(a gpu.Info, about string, speed float64) {
	gpu.StoreResult(a, about, strconv.AppendFloat(nil, speed, 'g', -1, 64))
}

// expect estimates how long a stage takes, and reports it.
func (e *Machine) expect(ctx context.Context, stage string, p *vae.Plan, clips int) error {
	if e.Quiet || e.Terminal.Progress == "none" {
		return nil
	}
	a := e.Device.Info()
	d := Duration(ctx, e.options, a, e.Model, e.precision(), stage, p)
	if d == 0 {
		return ctx.Err()
	}
	if e.expected == nil {
		e.expected = map[string]time.Duration{}
	}
	e.expected[stage] = d
	each := ""
	if clips > 1 {
		each = " for each clip"
	}
	e.Note("%s: %s%s expected on %s", stage, terminal.About(d), each, a.Name)
	return nil
}

// learn stores the speed of a stage of which a share took the given time.
func (e *Machine) learn(stage string, p *vae.Plan, share float64, took time.Duration) {
	if e.options.NoCache || e.profiling || len(p.Helpers) > 0 || took < telling {
		return
	}
	a := e.Device.Info()
	about, speed := network(e.Model, a, e.precision(), stage), share*float64(p.Cost.FLOPs)/took.Seconds()
	if old := stored(a, about); old > 0 {
		speed = math.Sqrt(old * speed) // average: one job on a busy machine says little
	}
	store(a, about, speed)
}
