package vae

import (
	"tessera/engine"
	"tessera/tiling"
)

// stageSize is a stage's number of channels at its input, between its blocks and after
// its sampler, and its number of residual blocks.
type stageSize struct{ in, width, out, blocks int }

// sampling is the change of size by a stage's sampler.
type sampling struct{ up, time bool }

// sampler returns the sampling of stage i, nil if it has no sampler.
func sampler(up bool, time []bool, i int) *sampling {
	if i >= len(time) {
		return nil
	}
	return &sampling{up, time[i]}
}

func newWanStage(l *loader, time engine.Causal, name func(i, r int) string, i int, size stageSize, how *sampling) *outerStage {
	s := &outerStage{}
	in := size.in
	for b := range size.blocks {
		s.resnets = append(s.resnets, newWanResnet(l, time, name(i, b), in, size.width))
		s.names = append(s.names, name(i, b))
		in = size.width
	}
	if how != nil {
		r := newResample(l, name(i, size.blocks), size.width, size.out, *how)
		s.sampler, s.names = r, append(s.names, r.name)
	}
	return s
}

// nest makes the stage one module with a shortcut to cout channels.
func (s *outerStage) nest(name string, cout int, how skipping) {
	s.names = []string{name}
	sample, _ := s.sampler.(*resample)
	s.shortcut = &shortcut{name + ".avg_shortcut", cout, sample, how}
}

// resample is Resample: it halves space by a convolution, then time; or it doubles time,
// then enlarges space and convolves. The convolution over time skips a clip's first
// frame; where it doubles frames, the other frames do not even read it (the Rep marker of
// the reference).
type resample struct {
	name string
	up   bool
	time *engine.TimeConv // nil if the number of frames stays
	conv *engine.Conv
}

// newResample builds a sampler from cin to cout channels.
func newResample(l *loader, name string, cin, cout int, how sampling) *resample {
	s := &resample{name: name, up: how.up}
	if how.up {
		s.conv = l.enlarging(name+".resample.1", cin, cout)
	} else {
		s.conv = l.conv2d(name+".resample.1", cin, cout, 2)
	}
	switch {
	case how.time && how.up:
		s.time = l.timeConv(name+".time_conv", cin, 2, engine.Causal{Kernel: 3, Past: engine.Zeros, Passes: true, Hides: true})
	case how.time:
		s.time = l.timeConv(name+".time_conv", cin, 1, engine.Causal{Kernel: 3, Step: 2, Past: engine.Zeros, Passes: true})
	}
	return s
}

// Forward returns x at the other size.
func (s *resample) Forward(g *engine.Graph, x engine.Value) engine.Value {
	if s.up && s.time != nil {
		x = s.time.Forward(g, x)
	}
	x = s.conv.Forward(g, x)
	if !s.up && s.time != nil {
		x = s.time.Forward(g, x)
	}
	return x
}

func (s *resample) layer() string { return s.conv.Name }

func (s *resample) before(frame tiling.Size) tiling.Size {
	if s.up {
		return tiling.Size{H: frame.H / 2, W: frame.W / 2}
	}
	return tiling.Size{H: frame.H * 2, W: frame.W * 2}
}

func (s *resample) reads(out tiling.Rect, frame tiling.Size) tiling.Rect {
	if s.up { // a pixel of the enlarged frame and its neighbours
		return clip(tiling.Rect{Y0: (out.Y0 - 1) >> 1, Y1: out.Y1/2 + 1, X0: (out.X0 - 1) >> 1, X1: out.X1/2 + 1}, frame)
	}
	return clip(tiling.Rect{Y0: 2 * out.Y0, Y1: 2*out.Y1 + 1, X0: 2 * out.X0, X1: 2*out.X1 + 1}, frame)
}

func (s *resample) makes(out, in tiling.Rect) engine.Window {
	size := out.Size()
	if s.up {
		return engine.Window{Y: out.Y0 - 2*in.Y0, X: out.X0 - 2*in.X0, H: size.H, W: size.W}
	}
	return engine.Window{Y: 2*out.Y0 - in.Y0, X: 2*out.X0 - in.X0, H: size.H, W: size.W}
}

// shortcut is what Wan 2.2 adds around a stage: AvgDown3D, DupUp3D, or the stage's input.
type shortcut struct {
	name   string
	cout   int
	sample *resample // the stage's sampler, nil if the shortcut is the input
	skipping
}

// skipping is how a shortcut changes time.
type skipping struct {
	time  int  // frames that become one, or are made of one
	apart bool // each frame is treated as the first of a clip
}

// before computes from the stage's input what after adds. It copies the input if it is
// needed later, because the blocks overwrite it.
func (s *shortcut) before(g *engine.Graph, x engine.Value) engine.Value {
	if s.sample == nil || s.sample.up {
		return engine.Copy(g, s.name, x)
	}
	d := &engine.AvgDown{Name: s.name, Out: s.cout, Time: s.time, PerFrame: s.apart, Window: s.sample.conv.Window(g, x)}
	return d.Forward(g, x)
}

// after adds what before returned to the stage's output y.
func (s *shortcut) after(g *engine.Graph, skip, y engine.Value) engine.Value {
	if s.sample == nil || !s.sample.up {
		return engine.AddMeans(g, s.name, skip, y)
	}
	d := &engine.DupUp{Name: s.name, Time: s.time, PerFrame: s.apart, Window: s.sample.conv.Window(g, skip)}
	return d.Add(g, skip, y)
}
