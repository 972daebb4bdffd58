package vae

import (
	"math"

	"tessera/latent"
	"tessera/tiling"
	"tessera/wgsl"
)

// Latent is the output of an encoder and the input of a decoder: [C, L, h, w].
type Latent = latent.Latent

// cells are a decoder's input: a latent, converted to the model's own numbers.
type cells struct {
	z        Latent
	config   *Config
	unscaled bool // it has them already
}

// Fill writes the cells `in` of frames t to t+n-1, [n, H, W, C padded].
func (l *cells) Fill(dst []float32, t, n int, in tiling.Rect) error {
	z, pad, size := l.z, wgsl.Pad4(l.z.Channels), in.Size()
	saturates := l.config.family().saturates != nil && l.config.family().saturates(l.config)
	for c := range z.Channels {
		for k := range n {
			for r := range size.H {
				scale, mean := l.config.network(c, t+k, in.Y0+r, l.unscaled)
				row := z.Data[((c*z.Frames+t+k)*z.Height+in.Y0+r)*z.Width+in.X0:]
				for q := range size.W {
					v := float64(row[q])/scale[(in.X0+q)%2] + mean[(in.X0+q)%2]
					if saturates {
						v = 3 * math.Tanh(v/3)
					}
					dst[((k*size.H+r)*size.W+q)*pad+c] = float32(v)
				}
			}
		}
	}
	return nil
}

// pixels are an encoder's input: a clip, continued beyond its end and edges.
type pixels struct {
	clip   Clip
	h, w   int
	patch  int
	padded int // number of frames
	across int // stride of a patch's channels between columns
	down   int // and between rows
	inputs int // channels that the network reads

	unsigned bool // see family
	fourier  bool // see family
	picture  int  // how often each frame of the clip is repeated
	temporal int  // frames in a latent frame
	cycle    int  // latent frames per cycle, the first of which has zeros in all frames but its last; 0: no cycles
	beyond   func(t, frames, all int) int
	frame    []float32
}

func newPixels(clip Clip, m *Model) *pixels {
	h, w := clip.Size()
	padded, _, _ := m.Padded(clip.Frames(), h, w, false)
	across, down := m.Config.Patch, 1
	if m.family.rowsFirst {
		across, down = down, across
	}
	return &pixels{
		across: across, down: down, unsigned: m.family.unsigned && !m.Config.Leaky, picture: 1, temporal: m.Config.Temporal, cycle: m.Config.Cycle,
		clip: clip, h: h, w: w, patch: m.Config.Patch, padded: padded, beyond: m.family.beyond,
		frame: make([]float32, m.Config.Channels*h*w), inputs: m.encoder.InChannels, fourier: m.family.fourier,
	}
}

// Fill writes the pixels `in` of frames t to t+n-1, [n, H, W, C padded], in patches if
// the model has them: channel c of the pixel in row q, column r of a patch is the patch's
// channel c*patch*patch + r*across + q*down. Fourier features follow them.
func (p *pixels) Fill(dst []float32, t, n int, in tiling.Rect) error {
	c, patch, size := p.clip.Channels(), p.patch, in.Size()
	pad := wgsl.Pad4(p.inputs)
	for k := range n {
		from, zero := p.from(t + k)
		if zero {
			clear(dst[k*pad*(size.H/patch)*(size.W/patch):][:pad*(size.H/patch)*(size.W/patch)])
			continue
		}
		if err := p.clip.ReadFrame(p.beyond(from, p.clip.Frames(), p.padded), p.frame); err != nil {
			return err
		}
		for r := range size.H {
			row := p.frame[c*p.w*min(in.Y0+r, p.h-1):]
			line := (k*(size.H/patch) + r/patch) * (size.W / patch)
			for q := range size.W {
				pixel := row[c*min(in.X0+q, p.w-1):][:c]
				cell := dst[(line+q/patch)*pad+q%patch*p.across+r%patch*p.down:]
				for i, v := range pixel {
					if p.unsigned {
						v = (v + 1) / 2
					}
					cell[i*patch*patch] = v
				}
				if p.fourier {
					fourier(cell, pixel)
				}
			}
		}
	}
	return nil
}

// from returns the frame of the clip that the network sees as frame t, which may lie
// beyond the clip's end. If zero is set, it sees zeros.
func (p *pixels) from(t int) (frame int, zero bool) {
	if p.cycle == 0 {
		return t / p.picture, false
	}
	zeros, cycle := p.temporal-1, p.cycle*p.temporal
	if t%cycle < zeros {
		return 0, true
	}
	return t/cycle*(cycle-zeros) + t%cycle - zeros, false
}

// mirrored returns the frame that stands for frame t of a clip of n frames: the clip,
// then its frames from the one before last back to the first, then the last again
// (numz/ComfyUI-SeedVR2_VideoUpscaler, generation_utils.py).
func mirrored(t, n, padded int) int {
	if t < n {
		return t
	}
	if need := padded - n; need < n {
		return n - 2 - (t - n)
	}
	if back := n - 1 - (t - n); back >= 1 {
		return back
	}
	return n - 1
}
