package machine

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"tessera/gpu"
	"tessera/tune"
	"tessera/vae"
)

// OpenFaster is OpenDevice, but if o leaves the graphics API open and the card has
// subgroup matrices only through another one, it opens the card through the API that a
// trial found faster. The trial is made once for each driver; why says what it found, ""
// if there was nothing to choose.
func OpenFaster(ctx context.Context, t *tune.Tuner, o gpu.Options) (dev *gpu.Device, why string, err error) {
	dev, err = OpenDevice(o)
	if err != nil || rival == nil || !open(t, o) {
		return dev, "", err
	}
	all, err := Adapters(o)
	if err != nil { // it opened a moment ago
		return dev, "", nil
	}
	twin := rival(dev.Info(), all)
	if twin == nil {
		return dev, "", nil
	}
	o.Adapter = twin.Index
	c := contest{dev.Info(), *twin}
	speeds, known := c.load()
	var other *gpu.Device
	if !known || c.wins(speeds) {
		if other, err = OpenDevice(o); err != nil {
			return dev, fmt.Sprintf("%s is not used: %v", twin.Backend, err), nil
		}
	}
	if !known {
		if speeds, err = c.measure(ctx, t, dev, other); err != nil {
			other.Close()
			if ctx.Err() != nil {
				dev.Close()
				return nil, "", ctx.Err()
			}
			return dev, fmt.Sprintf("%s is not used: its trial failed: %v", twin.Backend, err), nil
		}
	}
	loser := other
	if c.wins(speeds) {
		dev, loser = other, dev
	}
	if loser != nil {
		loser.Close()
	}
	return dev, c.why(speeds), nil
}

// rival returns adapter a's card through another graphics API if that may be faster, or
// nil. It is nil where cards have one API. A test takes two drivers of the processor for
// two APIs of a card.
var rival = rivalOn(runtime.GOOS)

func rivalOn(system string) func(a gpu.Info, all []gpu.Info) *gpu.Info {
	if system == "windows" {
		return withMatrices
	}
	return nil
}

// open reports whether the options leave the graphics API to a trial.
func open(t *tune.Tuner, o gpu.Options) bool {
	return o.Adapter == -1 && (o.Backend == "" || o.Backend == "auto") && !t.Off && !o.NoCache && !gpu.SkipVerification()
}

// withMatrices returns the same card through another graphics API, by which it has
// matrices, or nil if a has some or no adapter has any.
func withMatrices(a gpu.Info, all []gpu.Info) *gpu.Info {
	i := slices.IndexFunc(all, func(b gpu.Info) bool {
		return b.Backend != a.Backend && b.DeviceID != "" && b.DeviceID == a.DeviceID && len(b.Matrices) > 0
	})
	if i < 0 || len(a.Matrices) > 0 {
		return nil
	}
	return &all[i]
}

// contest is a card through two graphics APIs, the usual one first. Its speeds are the
// GFLOP/s of the fastest convolution.
type contest [2]gpu.Info

func (c contest) about() string { return "graphics API, or " + c[1].Backend + " " + c[1].Driver }

// load returns the stored speeds.
func (c contest) load() (speeds [2]float64, known bool) {
	n, err := fmt.Sscan(string(gpu.LoadResult(c[0], c.about())), &speeds[0], &speeds[1])
	return speeds, n == 2 && err == nil
}

// measure measures and stores the speeds.
func (c contest) measure(ctx context.Context, t *tune.Tuner, devices ...*gpu.Device) (speeds [2]float64, err error) {
	if t.Say != nil {
		t.Say(fmt.Sprintf("choosing between %s and %s", c[0].Backend, c[1].Backend))
	}
	for i, dev := range devices {
		elem, err := vae.Auto.Elem(dev.Info())
		if err != nil {
			return speeds, err
		}
		if speeds[i], err = t.Speed(ctx, dev, elem); err != nil {
			return speeds, err
		}
	}
	gpu.StoreResult(c[0], c.about(), fmt.Appendln(nil, speeds[0], speeds[1]))
	return speeds, nil
}

// wins reports whether the second API is the faster one.
func (c contest) wins(speeds [2]float64) bool { return speeds[1] > speeds[0] }

// why describes the speeds, the chosen API first.
func (c contest) why(speeds [2]float64) string {
	a, b := 0, 1
	if c.wins(speeds) {
		a, b = b, a
	}
	return fmt.Sprintf("%s reaches %.0f GFLOP/s in a convolution, %s %.0f", c[a].Backend, speeds[a], c[b].Backend, speeds[b])
}
