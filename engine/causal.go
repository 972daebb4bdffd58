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
	First                  // begins with frame 0; its end is kept
	Steady                 // continues from what the previous slice kept
	Second                 // Steady, after a slice of one frame, the clip's first
)

// later reports whether an earlier slice kept frames.
func (p Position) later() bool { return p >= Steady }

// Past is what precedes a clip's first frame.
type Past int

// Pasts.
const (
	Repeated Past = iota // frame 0 again: SeedVR2
	Zeros                // nothing: Wan
)

// Causal describes a convolution in time: its taps end at the current frame, so a clip
// can run in slices if the last frames of each are kept for the next.
type Causal struct {
	Kernel    int  // temporal taps; 0 and 1 read the current frame only
	Step      int  // input frames per output frame; 0 is 1. If equal to Kernel, groups of frames become one each, from the clip's first on
	Past      Past // before the first frame
	Passes    bool // the clip's first frame is passed on without convolution
	Hides     bool // and the convolution does not read it: it reads zeros instead
	Lookahead int  // frames that it reads after the current one; beyond the clip's end the last frame again
}

// step returns c.Step or its default.
func (c Causal) step() int { return max(c.Step, 1) }

// frames returns how many frames a slice of n becomes.
func (c Causal) frames(at Position, n int) int {
	if at.later() {
		return n / c.step()
	}
	return (n-1)/c.step() + 1
}

// head returns how many of them the convolution does not compute.
func (c Causal) head(at Position) int {
	if c.Passes && !at.later() {
		return 1
	}
	return 0
}

// kept returns how many frames are kept for the next slice.
func (c Causal) kept() int {
	if c.Kernel <= 1 {
		return 0
	}
	return c.Kernel - c.step()
}

// timeline is the time around one slice of a layer's input x: the frames kept from
// earlier slices, then those of x.
type timeline struct {
	Causal
	at     Position
	x      wgsl.Tensor
	rows   int           // rows of x to keep: those that no later band reads from the memory
	memory []wgsl.Tensor // nil if nothing is kept
	packed []wgsl.Tensor // memory in 8 bits; nil if it is not quantised
	lag    int           // with lookahead: frames that came before x and have no output yet
	sums   bool          // memory holds the sums that earlier frames add to later ones, not frames
	away   *HostMemory   // the memory's place on the host; nil: on the device
	from   int64         // byte of a frame there at which the rows begin
}

// frame returns the tap for frame f of x, which may be negative: a frame of x or of the
// memory. ok is false for zeros, and for frames whose contribution is in the memory's
// sums.
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

// taps returns the frames that the convolution reads for its output frame t. It leaves
// out taps that are zeros. Those are always the first, so the rest are the kernel's last
// taps.
func (l *timeline) taps(t int) []wgsl.Tap {
	var taps []wgsl.Tap
	for k := range max(l.Kernel, 1) {
		if tap, ok := l.tap(t, k); ok {
			taps = append(taps, tap)
		}
	}
	return taps
}

// tap returns the frame that the kernel's tap k reads for frame t; false for zeros.
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

// runs cuts frames 0 to n-1 of the output into runs for one dispatch each: at most the
// given number of frames, whose taps all advance together.
func (l *timeline) runs(n, most int) []wgsl.Run {
	return wgsl.Runs(n, most, func(t, n int) bool { return wgsl.Joined(l.taps(t), l.taps(t+n), n*l.step()) })
}

// addGiven copies the memory's sums for frame t of the output, if there are any.
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

// keep records that the last frames so far are kept.
func (l *timeline) keep(e *emitter, label string) {
	switch {
	case l.x.T == 0: // the memory stays as it is
		return
	case l.away != nil:
		l.keepOnHost(e, label)
		return
	case l.packed != nil:
		l.keepQuantised(e, label+" memory")
		return
	}
	bytes := int64(l.rows) * l.x.RowBytes()
	if bytes == 0 { // the next band reads all rows of this one
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
