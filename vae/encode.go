package vae

import (
	"context"
	"errors"
	"fmt"

	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

// errStopped: the caller left the loop over frames.
var errStopped = errors.New("vae: stopped by the caller")

// Clip is a video to encode. Tiles read its frames several times.
type Clip interface {
	Frames() int
	Size() (height, width int)
	// Channels of a pixel: those of Config.
	Channels() int
	// ReadFrame fills dst, [H, W, Channels] in [-1, 1].
	ReadFrame(t int, dst []float32) error
}

// EncodeOptions choose what comes out.
type EncodeOptions struct {
	Options
	Moments bool   // mean and log-variance, unscaled, in place of a latent
	Sample  bool   // draw from the distribution; else its mean
	Seed    uint64 // of Sample
}

// Padded are the clip's frames and size as the encoder sees them: 4n+1 frames,
// the end mirrored, unless they are independent, and multiples of a latent cell's
// pixels, the last row and column repeated.
func (m *Model) Padded(frames, height, width int, independent bool) (int, int, int) {
	t, s := m.Config.Temporal, m.Config.Spatial
	if !independent {
		frames = (frames+t-2)/t*t + 1
	}
	return frames, (height + s - 1) / s * s, (width + s - 1) / s * s
}

// PlanEncode lays an encode out without running it.
func (m *Model) PlanEncode(frames, height, width int, o Options) (*Layout, error) {
	if frames < 1 || height < 1 || width < 1 {
		return nil, fmt.Errorf("vae: clip of %d frames of %dx%d pixels, expected at least one of each", frames, height, width)
	}
	t, h, w := m.Padded(frames, height, width, o.Independent)
	return m.layout("encoder", inputShape{t, h, w, m.Config.Channels * m.Config.Patch * m.Config.Patch}, o)
}

// Encode runs the encoder on a clip of any length and size, padded as Padded
// says.
func (m *Model) Encode(ctx context.Context, clip Clip, o EncodeOptions) (Latent, error) {
	height, width := clip.Size()
	if clip.Channels() != m.Config.Channels {
		return Latent{}, fmt.Errorf("vae: clip has %d channels in a pixel, %s has %d", clip.Channels(), m.file.Name(), m.Config.Channels)
	}
	l, err := m.PlanEncode(clip.Frames(), height, width, o.Options)
	if err != nil {
		return Latent{}, err
	}
	if err := m.load(ctx, "encoder", o.Loading); err != nil {
		return Latent{}, err
	}
	z := Latent{Channels: m.Config.Latent, Frames: l.out.frames, Height: l.Tiles.Out.H, Width: l.Tiles.Out.W}
	if o.Moments {
		z.Channels *= 2
	}
	z.Data = make([]float32, z.Channels*z.Frames*z.Height*z.Width)
	s := &sampler{m: m, ctx: ctx, o: o, z: z}
	defer s.close()
	src := &pixels{clip: clip, h: height, w: width, padded: l.frames, frame: make([]float32, m.Config.Channels*height*width)}
	feed := func(tile tiling.Tile, at slice, p *plan) error { return m.feedPixels(src, tile, at, p) }
	show := func(int, wgsl.Tensor, int, int) error { return nil }
	if err := m.blend(ctx, l, o.Options, feed, show, s.take); err != nil {
		return Latent{}, err
	}
	return z, nil
}

// pixels reads a clip beyond its end and edges.
type pixels struct {
	clip   Clip
	h, w   int
	padded int // frames
	frame  []float32
}

// mirrored is the frame that stands for frame t of a clip of n: the clip, then
// its frames from the one before last back to the first, then the last again
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

// feedPixels fills a plan's input with a tile's pixels of a slice, in patches
// where the model has such: channel c of the pixel in row q, column r of a patch
// is the patch's channel (c*patch + r)*patch + q.
func (m *Model) feedPixels(src *pixels, tile tiling.Tile, s slice, p *plan) error {
	h, w := tile.In.Y1-tile.In.Y0, tile.In.X1-tile.In.X0
	c, patch := m.Config.Channels, m.Config.Patch
	pad := wgsl.Pad4(c * patch * patch)
	x := make([]float32, s.n*(h/patch)*(w/patch)*pad)
	for t := range s.n {
		if err := src.clip.ReadFrame(mirrored(s.t+t, src.clip.Frames(), src.padded), src.frame); err != nil {
			return err
		}
		for r := range h {
			row := src.frame[c*src.w*min(tile.In.Y0+r, src.h-1):]
			line := (t*(h/patch) + r/patch) * (w / patch)
			for q := range w {
				pixel := row[c*min(tile.In.X0+q, src.w-1):][:c]
				cell := x[(line+q/patch)*pad+q%patch*patch+r%patch:]
				for i, v := range pixel {
					cell[i*patch*patch] = v
				}
			}
		}
	}
	return m.dev.Write(p.in.Buffer.All(), pack(x, m.Elem))
}

// sampler makes latents of moments and gathers them.
type sampler struct {
	m      *Model
	ctx    context.Context
	o      EncodeOptions
	z      Latent
	latent wgsl.Tensor // on the device, and its noise: as large as the moments
	noise  wgsl.Tensor
	row    []byte // scratch
}

// take reads frame xT of the moments x, rows from y0 on.
func (s *sampler) take(x wgsl.Tensor, xT, frame, y0 int) error {
	from := x
	if !s.o.Moments {
		var err error
		if from, err = s.draw(x, xT, frame, y0); err != nil {
			return err
		}
	}
	v, err := s.m.read(s.ctx, from, xT, &s.row)
	if err != nil {
		return err
	}
	pad := wgsl.Pad4(from.C)
	for c := range s.z.Channels {
		scale, mean := 1.0, 0.0
		if !s.o.Moments && !s.o.Unscaled {
			scale, mean = s.m.Config.scale(c)
		}
		for r := range x.H {
			row := s.z.Data[((c*s.z.Frames+frame)*s.z.Height+y0+r)*s.z.Width:]
			for q := range x.W {
				row[q] = float32((float64(v[(r*x.W+q)*pad+c]) - mean) * scale)
				if row[q]-row[q] != 0 {
					return s.m.overflow()
				}
			}
		}
	}
	return nil
}

// draw makes a frame's latent on the device, frame xT of what it returns.
func (s *sampler) draw(x wgsl.Tensor, xT, frame, y0 int) (wgsl.Tensor, error) {
	z, noise, err := s.tensors(x)
	if err != nil {
		return z, err
	}
	var drawn *wgsl.Tensor
	if s.o.Sample {
		drawn = &noise
		at := gpu.View{Buffer: noise.Buffer, Offset: int64(xT) * noise.FrameBytes()}
		if err := s.m.dev.Write(at, bytes32(s.values(z, frame, y0))); err != nil {
			return z, err
		}
	}
	batch := &gpu.Batch{Label: "sample"}
	s.m.kernels(x.Elem).Sample(batch, "sample", x, drawn, z, xT, 1)
	return z, s.m.dev.Submit(s.ctx, batch)
}

// tensors are a latent and its noise for moments like x, on the device.
func (s *sampler) tensors(x wgsl.Tensor) (z, noise wgsl.Tensor, err error) {
	z = wgsl.Tensor{Elem: wgsl.F32, T: x.T, H: x.H, W: x.W, C: s.m.Config.Latent}
	noise = z
	if s.latent.Buffer == nil || s.latent.Buffer.Size < z.Bytes() {
		s.close()
		s.latent.Buffer = &gpu.Buffer{Label: "latent", Size: z.Bytes()}
		s.noise.Buffer = &gpu.Buffer{Label: "noise", Size: z.Bytes()}
		if err := s.m.dev.Alloc(s.latent.Buffer, s.noise.Buffer); err != nil {
			return z, noise, fmt.Errorf("vae: %w", err)
		}
	}
	z.Buffer, noise.Buffer = s.latent.Buffer, s.noise.Buffer
	s.latent, s.noise = z, noise
	return z, noise, nil
}

// values are the noise of rows y0 on of a frame: sample i of the seed's sequence
// belongs to element i of the latent in [L, h, w, C] order.
func (s *sampler) values(z wgsl.Tensor, frame, y0 int) []float32 {
	c, pad := z.C, wgsl.Pad4(z.C)
	v := make([]float32, z.H*z.W*c)
	wgsl.Noise(v, s.o.Seed, uint64((frame*s.z.Height+y0)*s.z.Width*c))
	padded := make([]float32, z.H*z.W*pad)
	for i := range z.H * z.W {
		copy(padded[i*pad:][:c], v[i*c:])
	}
	return padded
}

func (s *sampler) close() { s.m.dev.Free(s.latent.Buffer, s.noise.Buffer) }
