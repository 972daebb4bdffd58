package vae

import (
	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// timeConv halves or doubles the frames, but for the first of a clip, which
// passes by it: time_conv of Wan's Resample. Doubled frames don't even see the
// first one, zeros stand for it (the Rep marker of the reference).
type timeConv struct {
	name string
	w    wgsl.Weights
	c    int
	up   bool
}

func newTimeConv(l *loader, name string, c int, up bool) *timeConv {
	n := 1
	if up {
		n = 2
	}
	return &timeConv{name, l.parts(name, n, c, c, 3, 1, 1), c, up}
}

// Forward consumes x.
func (u *timeConv) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	step, phases, past, head := 2, 1, 1, 0
	if u.up {
		step, phases, past = 1, 2, 2
	}
	if r.at != steady {
		head = 1
	}
	least := 0 // frame of x that may be read
	if u.up {
		least = head
	}
	var memory []wgsl.Tensor
	if r.at != whole {
		memory = r.memory.of(u.name, past, x)
	}
	frames := (x.T - head) / step
	if frames == 0 {
		r.remember(u.name, x, memory, least)
		return x
	}
	y := r.tensor(u.name, head+frames*phases, x.H, x.W, u.c)
	if head == 1 {
		bytes := x.FrameBytes()
		r.batch.Copy(u.name, gpu.View{Buffer: y.Buffer, Size: bytes}, gpu.View{Buffer: x.Buffer, Size: bytes})
	}
	taps := func(t int) (taps []wgsl.Tap) {
		for k := range 3 {
			switch f := head + t*step + k - past; {
			case f >= least:
				taps = append(taps, wgsl.Tap{X: x, T: f})
			case r.at == steady:
				taps = append(taps, wgsl.Tap{X: memory[len(memory)+f]})
			}
		}
		return taps
	}
	most := max(1, min((r.atOnce(x)+step-1)/step, r.atOnce(y)/phases))
	for t := 0; t < frames; {
		at, n := taps(t), 1
		for n < most && t+n < frames && follows(at, taps(t+n), n*step) {
			n++
		}
		r.set.TimeConv(r.batch, u.name, wgsl.TimeConv{
			Weights: u.w, KT: 3, Taps: at, Step: step, Phases: phases, Y: y, T: head + t*phases, N: n,
		})
		t += n
	}
	r.remember(u.name, x, memory, least)
	r.free(x)
	return y
}

// resample is Resample: space halved by a convolution, then time, or time
// doubled, then space enlarged and convolved.
type resample struct {
	name string
	up   bool
	time *timeConv // nil where time stays
	conv *causalConv
}

// newResample makes cout of cin channels. n is the number of its window.
func newResample(l *loader, name string, cin, cout int, up, time bool, n int) *resample {
	conv := &causalConv{
		name: name + ".resample.1", w: l.conv2d(name+".resample.1", cin, cout, 3), cout: cout, kt: 1, step: 1,
		stride: 2, window: n,
	}
	if up {
		conv.stride, conv.enlarge = 1, true
	}
	s := &resample{name: name, up: up, conv: conv}
	if time {
		s.time = newTimeConv(l, name+".time_conv", cin, up)
	}
	return s
}

// Forward consumes x.
func (s *resample) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	if s.up && s.time != nil {
		x = s.time.Forward(r, x)
	}
	y := s.conv.Forward(r, x, nil)
	r.free(x)
	if !s.up && s.time != nil {
		y = s.time.Forward(r, y)
	}
	return y
}

// reads is the part of a frame of the input, of size frame, that a part of the
// output depends on.
func (s *resample) reads(out tiling.Rect, frame tiling.Size) tiling.Rect {
	if s.up { // a pixel of the enlarged frame and its neighbours
		return clip(tiling.Rect{Y0: (out.Y0 - 1) >> 1, Y1: out.Y1/2 + 1, X0: (out.X0 - 1) >> 1, X1: out.X1/2 + 1}, frame)
	}
	return clip(tiling.Rect{Y0: 2 * out.Y0, Y1: 2*out.Y1 + 1, X0: 2 * out.X0, X1: 2*out.X1 + 1}, frame)
}

// makes is the window that turns the input in into the output out, both places
// in their frames.
func (s *resample) makes(out, in tiling.Rect) window {
	size := out.Size()
	if s.up {
		return window{out.Y0 - 2*in.Y0, out.X0 - 2*in.X0, size.H, size.W}
	}
	return window{2*out.Y0 - in.Y0, 2*out.X0 - in.X0, size.H, size.W}
}

// shortcut is what Wan 2.2 adds around a stage: AvgDown3D, DupUp3D, or the
// stage's input itself.
type shortcut struct {
	name   string
	cout   int
	sample *resample // the stage's, nil where the shortcut is the input
}

// before makes what after adds, of the stage's input, which stays the stage's.
func (s *shortcut) before(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	if s.sample == nil || s.sample.up {
		return r.copied(s.name, x)
	}
	ft, frames, from := 1, x.T, 0
	if s.sample.time != nil {
		ft, frames = 2, x.T/2
		if r.at != steady { // a frame of zeros lies in front of the clip
			frames, from = (x.T-1)/2+1, -1
		}
	}
	out := s.sample.conv.output(r, x)
	y := r.tensor(s.name, frames, out.h, out.w, s.cout)
	most := max(1, min(r.atOnce(x)/ft, r.atOnce(y)))
	for t := 0; t < frames; t += most {
		d := wgsl.AvgDown{FT: ft, FS: 2, Y0: out.y, X0: out.x}
		r.set.AvgDown3D(r.batch, s.name, d, x, from+t*ft, y, t, min(most, frames-t), false)
	}
	return y
}

// after adds to the stage's output y what before made, and consumes it.
func (s *shortcut) after(r *recorder, skip, y wgsl.Tensor) {
	defer r.free(skip)
	if s.sample == nil || !s.sample.up {
		most := r.atOnce(skip, y)
		for t := 0; t < y.T; t += most {
			r.set.AvgDown3D(r.batch, s.name, wgsl.AvgDown{FT: 1, FS: 1}, skip, t, y, t, min(most, y.T-t), true)
		}
		return
	}
	out := s.sample.conv.output(r, skip)
	ft, head := 1, 0
	if s.sample.time != nil {
		ft = 2
		if r.at != steady {
			head = 1
		}
	}
	d := wgsl.DupUp{FT: ft, FS: 2, Y0: out.y, X0: out.x}
	if head == 1 { // the first of the two that frame 0 becomes is dropped
		r.set.DupUp3D(r.batch, s.name, d, skip, 0, 1, y, 0, 1)
	}
	most := max(1, min(r.atOnce(skip), r.atOnce(y)/ft))
	for t := head; t < skip.T; t += most {
		r.set.DupUp3D(r.batch, s.name, d, skip, t, min(most, skip.T-t), y, t*ft-head, ft)
	}
}

// clip is the part of a rectangle within a frame.
func clip(r tiling.Rect, frame tiling.Size) tiling.Rect {
	return tiling.Rect{Y0: max(r.Y0, 0), Y1: min(r.Y1, frame.H), X0: max(r.X0, 0), X1: min(r.X1, frame.W)}
}

// grown is a rectangle with n more to each side, within a frame.
func grown(r tiling.Rect, n int, frame tiling.Size) tiling.Rect {
	return clip(tiling.Rect{Y0: r.Y0 - n, Y1: r.Y1 + n, X0: r.X0 - n, X1: r.X1 + n}, frame)
}
