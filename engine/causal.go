package engine

import (
	"tessera/gpu"
	"tessera/wgsl"
)

// Position is a slice's place in a clip; it decides what a causal convolution
// reads before the slice and whether the slice's end is kept. SeedVR2's
// reference calls them DISABLED, INITIALIZING and ACTIVE
// (causal_inflation_lib.py, MemoryState).
type Position int

// Positions.
const (
	Whole  Position = iota // the clip is one slice: nothing is kept
	First                  // frames 0 on: the end is kept
	Steady                 // the past is what the slice before kept
	Second                 // Steady, and that was one frame, the clip's first
)

// later says that something was kept before.
func (p Position) later() bool { return p >= Steady }

// Past is what precedes the first frame of a clip.
type Past int

// Pasts.
const (
	Repeated Past = iota // frame 0 again: SeedVR2
	Zeros                // nothing: Wan
)

// Causal describes a convolution in time: its taps end at the current frame, so a
// clip can run in slices if the last frames of each are kept for the next.
type Causal struct {
	Kernel    int  // temporal taps; 0 and 1 are one frame by itself
	Step      int  // frames of the input between two of the output; 0 is 1. Of Kernel frames, groups become one each, from the clip's first on
	Past      Past // before the first frame
	Passes    bool // the clip's first frame passes by: it is not made by the convolution
	Hides     bool // and not read by it either: zeros stand for it
	Lookahead int  // frames after the one that it makes that it reads; beyond the clip's end the last one again
}

// step is c.Step or its default.
func (c Causal) step() int { return max(c.Step, 1) }

// frames are how many a slice of so many becomes.
func (c Causal) frames(at Position, n int) int {
	if at.later() {
		return n / c.step()
	}
	return (n-1)/c.step() + 1
}

// head is how many of them are not made by the convolution.
func (c Causal) head(at Position) int {
	if c.Passes && !at.later() {
		return 1
	}
	return 0
}

// kept is how many frames are kept for the next slice.
func (c Causal) kept() int {
	if c.Kernel <= 1 {
		return 0
	}
	return c.Kernel - c.step()
}

// timeline is the time around one slice of a layer's input x: the frames kept
// of the slices before, then those of x.
type timeline struct {
	Causal
	at     Position
	x      wgsl.Tensor
	rows   int           // of x that are kept: those that no later band reads of the memory
	memory []wgsl.Tensor // nil where nothing is kept
	packed []wgsl.Tensor // what that is in 8 bits; nil where it is not kept so
	lag    int           // of one that reads ahead: frames that came before x and that none was made for
	sums   bool          // the memory is what frames so far give to the next ones, not frames
	away   *HostMemory   // where the memory lives, on the host; nil: on the device
	from   int64         // byte of a frame there at which the rows begin
}

// frame is what stands for frame f of x, which may be negative: a frame of x or
// of the memory; there is none where it is zeros, or in the memory's sums.
func (l *timeline) frame(f int) (tap wgsl.Tap, ok bool) {
	least := 0
	if l.Hides && !l.at.later() {
		least = 1
	}
	if l.Lookahead > 0 && f >= l.x.T {
		f = l.x.T - 1 // the clip ends there
	}
	switch {
	case f >= least:
		return wgsl.Tap{X: l.x, T: f}, true
	case l.at.later() && l.sums:
		return wgsl.Tap{}, false
	case l.at.later():
		return wgsl.Tap{X: l.memory[len(l.memory)+f]}, true
	case l.Past == Repeated:
		return wgsl.Tap{X: l.x}, true
	}
	return wgsl.Tap{}, false
}

// taps are the frames that frame t of those that the convolution makes reads.
// Taps that are zeros are left out, and always are the first: what remains are
// the kernel's last ones.
func (l *timeline) taps(t int) []wgsl.Tap {
	var taps []wgsl.Tap
	for k := range max(l.Kernel, 1) {
		if tap, ok := l.tap(t, k); ok {
			taps = append(taps, tap)
		}
	}
	return taps
}

// tap is the frame that the kernel's tap k reads for frame t; none where it is zeros.
func (l *timeline) tap(t, k int) (wgsl.Tap, bool) {
	past := max(l.Kernel, 1) - 1
	switch {
	case l.Lookahead > 0:
		past += l.lag - l.Lookahead
	case l.at.later() && l.Kernel > 1, l.Kernel == l.step():
		past = l.kept()
	}
	return l.frame((t+l.head(l.at))*l.step() + k - past)
}

// runs cuts frames 0 to n-1 of the output into runs that one dispatch can make:
// at most so many frames, whose taps all move on together.
func (l *timeline) runs(n, most int) []wgsl.Run {
	return wgsl.Runs(n, most, func(t, n int) bool { return wgsl.Joined(l.taps(t), l.taps(t+n), n*l.step()) })
}

// addGiven copies what the memory's sums have for frame t of the output, if they have any.
func (l *timeline) addGiven(e *emitter, label string, to gpu.View, t int) bool {
	if !l.sums || !l.at.later() || t >= len(l.memory) {
		return false
	}
	if l.away != nil {
		e.uploadSlot(l, t, to)
		return true
	}
	e.batch.Copy(label+" memory", to, frameOf(&l.memory[t], 0))
	return true
}

// keep records that the last frames of what came so far are kept.
func (l *timeline) keep(e *emitter, label string) {
	switch {
	case l.x.T == 0: // what is kept already is all
		return
	case l.away != nil:
		l.keepOnHost(e, label)
		return
	case l.packed != nil:
		l.keepQuantised(e, label+" memory")
		return
	}
	bytes := int64(l.rows) * l.x.RowBytes()
	if bytes == 0 { // the next band reads all that this one does
		return
	}
	for i, m := range l.memory {
		to := gpu.View{Buffer: m.Buffer, Offset: m.At(0), Size: bytes}
		tap, ok := l.frame(l.x.T - len(l.memory) + i)
		if !ok {
			e.batch.Clear(label+" memory", to)
			continue
		}
		e.batch.Copy(label+" memory", to, gpu.View{Buffer: tap.X.Buffer, Offset: tap.X.At(tap.T), Size: bytes})
	}
}
