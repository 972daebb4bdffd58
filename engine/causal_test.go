package engine

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/wgsl"
)

// zeros stands for the frames outside of a clip.
const zeros = -1

// times are those of all layers.
var times = []struct {
	name string
	Causal
}{
	{"a picture", Causal{}},
	{"one tap", Causal{Kernel: 1}},
	{"SeedVR2", Causal{Kernel: 3}},
	{"SeedVR2, time halved", Causal{Kernel: 3, Step: 2}},
	{"Wan", Causal{Kernel: 3, Past: Zeros}},
	{"Wan, time halved", Causal{Kernel: 3, Step: 2, Past: Zeros, Passes: true}},
	{"Wan, time doubled", Causal{Kernel: 3, Past: Zeros, Passes: true, Hides: true}},
	{"TAEHV", Causal{Kernel: 2, Past: Zeros}},
	{"TAEHV, time halved", Causal{Kernel: 2, Step: 2, Past: Zeros}},
}

// naive returns the frames of a whole clip that the convolution reads for frame t, one
// per tap.
func naive(c Causal, t int) []int {
	var frames []int
	for tap := range max(c.Kernel, 1) {
		f := t*max(c.Step, 1) - past(c) + tap
		switch {
		case f > 0, f == 0 && !c.Hides:
		case c.Past == Repeated:
			f = 0
		default:
			f = zeros
		}
		frames = append(frames, f)
	}
	return frames
}

// past returns how many earlier frames an output frame reads.
func past(c Causal) int {
	if c.Kernel == c.Step { // groups
		return 0
	}
	return max(c.Kernel, 1) - 1
}

// least returns the smallest first slice beyond multiples of Step, in frames.
func least(c Causal) int {
	if c.Kernel == c.Step {
		return c.step()
	}
	return 1
}

// clip runs slices of a clip through one layer; the content of a frame is its number.
type clip struct {
	t        *testing.T
	time     Causal
	bank     *memoryBank
	contents map[*gpu.Buffer][]int
	frames   int     // so far
	read     [][]int // per frame that the convolution made, as in naive
	passed   int     // frames that passed by
}

func newClip(t *testing.T, c Causal) *clip {
	return &clip{t: t, time: c, bank: newMemoryBank(), contents: map[*gpu.Buffer][]int{}}
}

// slice runs the next n frames; one dispatch makes at most `most` output frames.
func (v *clip) slice(at Position, n, most int) {
	x := wgsl.Tensor{Buffer: &gpu.Buffer{Label: "x"}, T: n, H: 1, W: 1, C: 4}
	for f := range n {
		v.contents[x.Buffer] = append(v.contents[x.Buffer], v.frames+f)
	}
	v.frames += n
	e := &emitter{bank: v.bank, at: at, batch: &gpu.Batch{}, x: x, b: entire(x.H, x.H)}
	l := e.time("layer", v.time)
	head := v.time.head(at)
	v.passed += head
	made := len(v.read)
	for _, r := range l.runs(v.time.frames(at, n)-head, most) {
		require.Equal(v.t, len(v.read)-made, r.T)
		require.LessOrEqual(v.t, r.N, most)
		for k := range r.N {
			taps := l.taps(r.T)
			frames := slices.Repeat([]int{zeros}, max(v.time.Kernel, 1)-len(taps)) // omitted taps are the first
			for _, tap := range taps {
				frames = append(frames, v.frame(tap.X.Buffer, tap.T+k*v.time.step()))
			}
			v.read = append(v.read, frames)
		}
	}
	l.keep(e, "layer")
	v.do(e.batch, x.FrameBytes())
}

// frame returns the content of frame t of a buffer.
func (v *clip) frame(b *gpu.Buffer, t int) int {
	require.Less(v.t, t, len(v.contents[b]), "frame of %s", b.Label)
	return v.contents[b][t]
}

// do moves frames as the commands say, in order.
func (v *clip) do(b *gpu.Batch, bytes int64) {
	for _, c := range b.Commands {
		require.Nil(v.t, c.Program)
		require.Zero(v.t, c.Dst.Offset)
		require.Equal(v.t, bytes, c.Dst.Size)
		kept := zeros
		if c.Src.Buffer != nil {
			require.Equal(v.t, bytes, c.Src.Size)
			kept = v.frame(c.Src.Buffer, int(c.Src.Offset/bytes))
		}
		v.contents[c.Dst.Buffer] = []int{kept}
	}
}

// check compares the frames that were read with those of the whole clip.
func (v *clip) check() {
	require.Equal(v.t, (v.frames-1)/v.time.step()+1, v.passed+len(v.read), "frames of the output")
	for i, got := range v.read {
		require.Equal(v.t, naive(v.time, v.passed+i), got, "frames that frame %d reads", v.passed+i)
	}
}

// cuts returns all ways to cut n frames into slices that this layer can have: a first one
// of `least` plus a multiple of step, others of multiples of step.
func cuts(n, least, step int) [][]int {
	all := [][]int{}
	var cut func(left int, slices []int)
	cut = func(left int, slices []int) {
		if left == 0 {
			all = append(all, append([]int(nil), slices...))
			return
		}
		for k := step; k <= left; k += step {
			cut(left-k, append(slices, k))
		}
	}
	for first := least; first <= n; first += step {
		cut(n-first, []int{first})
	}
	return all
}

// However a clip is cut, even into slices shorter than what is kept, its frames read the
// same frames as in the whole clip.
func TestSlicesReadWhatTheWholeReads(t *testing.T) {
	for _, c := range times {
		t.Run(c.name, func(t *testing.T) {
			tried := 0
			for n := least(c.Causal); n <= 9; n += c.step() {
				for _, most := range []int{1, 2, 3, 100} {
					whole := newClip(t, c.Causal)
					whole.slice(Whole, n, most)
					whole.check()
					require.Empty(t, whole.bank.order, "the whole clip keeps nothing")
					for _, cut := range cuts(n, least(c.Causal), c.step()) {
						tried++
						v := newClip(t, c.Causal)
						for i, k := range cut {
							at := Steady
							if i == 0 {
								at = First
							}
							v.slice(at, k, most)
						}
						v.check()
						require.Equal(t, whole.read, v.read, "cut into %v", cut)
						require.Len(t, v.bank.order, c.kept(), "frames kept")
					}
				}
			}
			want := 4 * 31
			if least(c.Causal) > 1 {
				want = 4 * 15
			}
			require.GreaterOrEqual(t, tried, want)
		})
	}
}

// What the layers of the two families keep for the next slice.
func TestKeptFrames(t *testing.T) {
	want := []int{0, 0, 2, 1, 2, 1, 2, 1, 0}
	for i, c := range times {
		require.Equal(t, want[i], c.kept(), c.name)
	}
}

// Only frames whose taps reach before the slice are separate runs.
func TestSteadyFramesAreOneRun(t *testing.T) {
	for i, want := range [][][2]int{
		{{0, 9}}, {{0, 9}}, {{0, 1}, {1, 1}, {2, 7}}, {{0, 1}, {1, 4}}, {{0, 1}, {1, 1}, {2, 7}}, {{0, 4}}, {{0, 1}, {1, 1}, {2, 6}}, {{0, 1}, {1, 8}}, {{0, 4}},
	} {
		c := times[i]
		n := 8 + least(c.Causal)%2
		l := &timeline{Causal: c.Causal, at: Whole, x: wgsl.Tensor{Buffer: &gpu.Buffer{}, T: n, H: 1, W: 1, C: 4}}
		var got [][2]int
		for _, r := range l.runs(c.frames(Whole, n)-c.head(Whole), 100) {
			got = append(got, [2]int{r.T, r.N})
		}
		require.Equal(t, want, got, c.name)
	}
}
