package vae

import (
	"fmt"

	"tessera/gpu"
	"tessera/wgsl"
)

// causalConv is a convolution whose temporal taps read the past only:
// InflatedCausalConv3d of the reference. With kt = 1 it has no memory.
type causalConv struct {
	name   string
	w      wgsl.Weights
	cout   int
	kt     int
	step   int // temporal stride
	stride int // spatial stride
}

func newCausalConv(l *loader, name string, cin, cout, kt, step, stride int) *causalConv {
	return &causalConv{name, l.conv(name, cin, cout, kt, 3), cout, kt, step, stride}
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
	y := wgsl.Tensor{}
	if add != nil {
		y = *add
	} else {
		y = r.tensor(c.name, frames, x.H/c.stride, x.W/c.stride, c.cout)
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
			Weights: c.w, Taps: taps, Step: c.step, Stride: c.stride, Y: y, T: t, N: n, Add: add != nil,
		})
		t += n
	}
	c.remember(r, x, memory)
	return y
}

// taps are the frames that output frame t reads. Before the slice lie the
// memory's frames, or frame 0 again where there is none.
func (c *causalConv) taps(at position, x wgsl.Tensor, memory []wgsl.Tensor, t int) []wgsl.Tap {
	if c.kt == 1 {
		return []wgsl.Tap{{X: x, T: t}}
	}
	past := c.kt - 1
	if at == steady {
		past = len(memory)
	}
	taps := make([]wgsl.Tap, c.kt)
	for k := range taps {
		switch f := t*c.step + k - past; {
		case f >= 0:
			taps[k] = wgsl.Tap{X: x, T: f}
		case at == steady:
			taps[k] = wgsl.Tap{X: memory[len(memory)+f]}
		default:
			taps[k] = wgsl.Tap{X: x}
		}
	}
	return taps
}

// follows is whether every tap is n frames after the one of before.
func follows(before, after []wgsl.Tap, n int) bool {
	for k := range before {
		if before[k].X.Buffer != after[k].X.Buffer || after[k].T != before[k].T+n {
			return false
		}
	}
	return true
}

// remember keeps the last frames of the input, of memory ++ x where x is short.
func (c *causalConv) remember(r *recorder, x wgsl.Tensor, memory []wgsl.Tensor) {
	for i, m := range memory {
		f := x.T - len(memory) + i
		from := wgsl.Tap{X: x, T: max(f, 0)}
		if f < 0 && r.at == steady {
			from = wgsl.Tap{X: memory[len(memory)+f]}
		}
		bytes := x.FrameBytes()
		r.batch.Copy(c.name+" memory",
			gpu.View{Buffer: m.Buffer, Size: bytes},
			gpu.View{Buffer: from.X.Buffer, Offset: int64(from.T) * bytes, Size: bytes})
	}
}

// pointwise is a 1x1x1 convolution or a linear layer over channels.
type pointwise struct {
	name string
	w    wgsl.Weights
	cout int
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

// resnet is ResnetBlock3D: norm, SiLU, conv, twice, plus the input or its
// shortcut.
type resnet struct {
	norm1, norm2 *groupNorm
	conv1, conv2 *causalConv
	shortcut     *pointwise // nil where channels stay
}

func newResnet(l *loader, name string, cin, cout int) *resnet {
	b := &resnet{
		norm1: l.norm(name+".norm1", cin, true), conv1: newCausalConv(l, name+".conv1", cin, cout, 3, 1, 1),
		norm2: l.norm(name+".norm2", cout, true), conv2: newCausalConv(l, name+".conv2", cout, cout, 3, 1, 1),
	}
	if cin != cout {
		b.shortcut = &pointwise{name + ".conv_shortcut", l.conv(name+".conv_shortcut", cin, cout, 1, 1), cout}
	}
	return b
}

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
	norm *groupNorm
	qkv  *pointwise
	out  *pointwise
}

func newAttention(l *loader, name string, c int) *attention {
	return &attention{
		name: name,
		norm: l.norm(name+".group_norm", c, false),
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
