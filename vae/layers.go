package vae

import (
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

// past is what a causal convolution reads before the first frame of a clip.
type past int

const (
	repeated past = iota // frame 0 again: SeedVR2
	zeros                // nothing: Wan
)

// causalConv is a 3x3 convolution whose temporal taps read the past only:
// InflatedCausalConv3d and CausalConv3d of the references. With kt = 1 it has no
// memory and is a convolution of each frame.
type causalConv struct {
	name    string
	w       wgsl.Weights
	cout    int
	kt      int
	step    int  // temporal stride
	stride  int  // spatial stride
	past    past // of a kt of 3
	enlarge bool // the input is taken as twice as high and wide, each pixel repeated
	window  int  // which of the recorder's windows the output is, counted from 1; 0 for all of it
}

func newCausalConv(l *loader, name string, cin, cout, kt, step, stride int) *causalConv {
	return &causalConv{name: name, w: l.conv(name, cin, cout, kt, 3), cout: cout, kt: kt, step: step, stride: stride}
}

// newZeroConv is a causalConv of stride 1 whose past is zeros.
func newZeroConv(l *loader, name string, cin, cout int) *causalConv {
	c := newCausalConv(l, name, cin, cout, 3, 1, 1)
	c.past = zeros
	return c
}

// reach is how far to each side a pixel of the output reads, beyond its own.
func (c *causalConv) reach() int { return 1 }

// output is the window of the output for input x.
func (c *causalConv) output(r *recorder, x wgsl.Tensor) window {
	whole := window{h: x.H / c.stride, w: x.W / c.stride}
	if c.enlarge {
		whole.h, whole.w = 2*x.H, 2*x.W
	}
	return r.window(c.window, whole)
}

// Forward takes x, which stays the caller's, and returns the output. Where add
// is set it holds the residual, is added to in place and returned.
func (c *causalConv) Forward(r *recorder, x wgsl.Tensor, add *wgsl.Tensor) wgsl.Tensor {
	frames := x.T
	if c.step == 2 {
		frames = x.T / 2
		if r.at != steady {
			frames = (x.T-1)/2 + 1
		}
	}
	out := c.output(r, x)
	y := wgsl.Tensor{}
	if add != nil {
		y = *add
	} else {
		y = r.tensor(c.name, frames, out.h, out.w, c.cout)
	}
	var memory []wgsl.Tensor
	if c.kt == 3 && r.at != whole {
		memory = r.memory.of(c.name, c.kt-c.step, x)
	}
	most := r.atOnce(x, y)
	if c.step == 2 {
		most = max(1, (most+1)/2)
	}
	for t := 0; t < frames; {
		taps := c.taps(r.at, x, memory, t)
		n := 1
		for n < most && t+n < frames && follows(taps, c.taps(r.at, x, memory, t+n), n*c.step) {
			n++
		}
		r.set.Conv3D(r.batch, c.name, wgsl.Conv3D{
			Weights: c.w, KT: c.kt, Taps: taps, Step: c.step, Stride: c.stride, Upsample: c.enlarge,
			Y0: out.y, X0: out.x, Y: y, T: t, N: n, Add: add != nil,
		})
		t += n
	}
	c.remember(r, x, memory)
	return y
}

// taps are the frames that output frame t reads. Before the slice lie the
// memory's frames. Where there are none, it is frame 0 again, or zeros, whose
// taps are left out: what remains are the kernel's last.
func (c *causalConv) taps(at position, x wgsl.Tensor, memory []wgsl.Tensor, t int) []wgsl.Tap {
	if c.kt == 1 {
		return []wgsl.Tap{{X: x, T: t}}
	}
	past := c.kt - 1
	if at == steady {
		past = len(memory)
	}
	var taps []wgsl.Tap
	for k := range c.kt {
		switch f := t*c.step + k - past; {
		case f >= 0:
			taps = append(taps, wgsl.Tap{X: x, T: f})
		case at == steady:
			taps = append(taps, wgsl.Tap{X: memory[len(memory)+f]})
		case c.past == repeated:
			taps = append(taps, wgsl.Tap{X: x})
		}
	}
	return taps
}

// follows is whether every tap is n frames after the one of before.
func follows(before, after []wgsl.Tap, n int) bool {
	if len(before) != len(after) {
		return false
	}
	for k := range before {
		if before[k].X.Buffer != after[k].X.Buffer || after[k].T != before[k].T+n {
			return false
		}
	}
	return true
}

// remember keeps the last frames of the input, of memory ++ x where x is short.
func (c *causalConv) remember(r *recorder, x wgsl.Tensor, memory []wgsl.Tensor) {
	head := 0
	if c.past == repeated {
		head = -len(memory) // frame 0 again
	}
	r.remember(c.name, x, memory, head)
}

// pointwise is a 1x1x1 convolution or a linear layer over channels.
type pointwise struct {
	name string
	w    wgsl.Weights
	cout int
}

// layer makes a new tensor of x, which stays the caller's.
type layer interface {
	Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor
}

// Forward returns a new tensor, or add with the product added in place.
func (p *pointwise) Forward(r *recorder, x wgsl.Tensor, add *wgsl.Tensor) wgsl.Tensor {
	y := wgsl.Tensor{}
	if add != nil {
		y = *add
	} else {
		y = r.tensor(p.name, x.T, x.H, x.W, p.cout)
	}
	most := r.atOnce(x, y)
	for t := 0; t < x.T; t += most {
		r.set.Pointwise(r.batch, p.name, p.w, x, y, t, min(most, x.T-t), add != nil)
	}
	return y
}

// groupNorm is a group norm per frame, followed by SiLU where silu is set.
type groupNorm struct {
	name        string
	gamma, beta *gpu.Buffer
	groups      int
	silu        bool
}

// normEps is that of every group norm of SeedVR2 (yaml: norm_eps).
const normEps = 1e-6

// Forward returns a new tensor.
func (n *groupNorm) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	y := r.tensor(n.name, x.T, x.H, x.W, x.C)
	g := wgsl.GroupNorm{Gamma: n.gamma, Beta: n.beta, Groups: n.groups, Eps: normEps, SiLU: n.silu}
	most := r.atOnce(x, y)
	partialBytes, factorBytes := g.Scratch(x, min(most, x.T))
	partials := r.scratch(n.name+" moments", partialBytes)
	factors := r.scratch(n.name+" factors", factorBytes)
	for t := 0; t < x.T; t += most {
		r.set.GroupNorm(r.batch, n.name, g, x, t, y, t, min(most, x.T-t), partials.All(), factors.All())
	}
	r.arena.give(partials)
	r.arena.give(factors)
	return y
}

// rmsNorm divides a pixel's channels by their root mean square, followed by
// SiLU where silu is set.
type rmsNorm struct {
	name  string
	gamma *gpu.Buffer
	silu  bool
}

// Forward returns a new tensor.
func (n *rmsNorm) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	y := r.tensor(n.name, x.T, x.H, x.W, x.C)
	most := r.atOnce(x, y)
	for t := 0; t < x.T; t += most {
		r.set.RMSNorm(r.batch, n.name, wgsl.RMSNorm{Gamma: n.gamma, SiLU: n.silu}, x, t, y, t, min(most, x.T-t))
	}
	return y
}

// resnet is ResnetBlock3D and ResidualBlock: norm, SiLU, conv, twice, plus the
// input or its shortcut.
type resnet struct {
	norm1, norm2 layer
	conv1, conv2 *causalConv
	shortcut     *pointwise // nil where channels stay
}

func newResnet(l *loader, name string, cin, cout int) *resnet {
	b := &resnet{
		norm1: l.groupNorm(name+".norm1", cin, true), conv1: newCausalConv(l, name+".conv1", cin, cout, 3, 1, 1),
		norm2: l.groupNorm(name+".norm2", cout, true), conv2: newCausalConv(l, name+".conv2", cout, cout, 3, 1, 1),
	}
	if cin != cout {
		b.shortcut = &pointwise{name + ".conv_shortcut", l.conv(name+".conv_shortcut", cin, cout, 1, 1), cout}
	}
	return b
}

func (b *resnet) reach() int { return b.conv1.reach() + b.conv2.reach() }

// Forward consumes x.
func (b *resnet) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	h := b.norm1.Forward(r, x)
	y := b.conv1.Forward(r, h, nil)
	r.free(h)
	h = b.norm2.Forward(r, y)
	r.free(y)
	if b.shortcut != nil {
		s := b.shortcut.Forward(r, x, nil)
		r.free(x)
		x = s
	}
	x = b.conv2.Forward(r, h, &x)
	r.free(h)
	return x
}

// attention is the mid block's: one head over all pixels of a frame.
type attention struct {
	name string
	norm layer
	qkv  *pointwise
	out  *pointwise
}

func newAttention(l *loader, name string, c int) *attention {
	return &attention{
		name: name,
		norm: l.groupNorm(name+".group_norm", c, false),
		qkv:  &pointwise{name + ".to_qkv", l.stacked(name, []string{"to_q", "to_k", "to_v"}, c), 3 * wgsl.Pad4(c)},
		out:  &pointwise{name + ".to_out.0", l.linear(name+".to_out.0", c, c), c},
	}
}

// Forward consumes x.
func (a *attention) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	h := a.norm.Forward(r, x)
	qkv := a.qkv.Forward(r, h, nil)
	r.free(h)
	o := r.tensor(a.name, x.T, x.H, x.W, x.C)
	blocks := wgsl.Attention{}
	scoreBytes, stateBytes, sumBytes := blocks.Scratch(o)
	scores := r.scratch(a.name+" scores", scoreBytes)
	state := r.scratch(a.name+" softmax", stateBytes)
	sums := r.scratch(a.name+" sums", sumBytes)
	most := r.atOnce(qkv)
	for t := 0; t < x.T; t += most {
		r.set.Attend(r.batch, a.name, blocks, qkv, o, t, min(most, x.T-t), scores.All(), state.All(), sums.All())
	}
	r.arena.give(scores)
	r.arena.give(state)
	r.arena.give(sums)
	r.free(qkv)
	x = a.out.Forward(r, o, &x)
	r.free(o)
	return x
}

// upsampler is Upsample3D: a 1x1x1 convolution to 4z times the channels, the
// pixel shuffle, then a causal convolution.
type upsampler struct {
	name    string
	upscale wgsl.Weights
	c, z    int // channels; frames made of one
	conv    *causalConv
}

func newUpsampler(l *loader, name string, c, z int) *upsampler {
	return &upsampler{name, l.upscale(name+".upscale_conv", c, z), c, z, newCausalConv(l, name+".conv", c, c, 3, 1, 1)}
}

// Forward consumes x. At the head of a clip the second frame made of frame 0 is
// dropped, so it is not made.
func (u *upsampler) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	head := 0
	if u.z == 2 && r.at != steady {
		head = 1
	}
	y := r.tensor(u.name, u.z*x.T-head, 2*x.H, 2*x.W, u.c)
	if head == 1 {
		r.set.PointwiseShuffle(r.batch, u.name, u.upscale, x, 0, 1, y, 0, 1)
	}
	most := max(1, min(r.atOnce(x), r.atOnce(y)/u.z))
	if y.FrameBytes()*int64(u.z) > r.limits.MaxBinding {
		r.fail(fmt.Errorf("vae: %s: %d frames of %d bytes, device allows %d in a binding: %w", u.name, u.z, y.FrameBytes(), r.limits.MaxBinding, gpu.ErrTooLarge))
	}
	for t := head; t < x.T; t += most {
		r.set.PointwiseShuffle(r.batch, u.name, u.upscale, x, t, min(most, x.T-t), y, t*u.z-head, u.z)
	}
	r.free(x)
	h := u.conv.Forward(r, y, nil)
	r.free(y)
	return h
}
