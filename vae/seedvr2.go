package vae

import (
	"fmt"

	"tessera/wgsl"
)

// midBlock is UNetMidBlock3D.
type midBlock struct {
	resnets   [2]*resnet
	attention *attention
}

func newMidBlock(l *loader, name string, c int) *midBlock {
	return &midBlock{
		resnets:   [2]*resnet{newResnet(l, name+".resnets.0", c, c), newResnet(l, name+".resnets.1", c, c)},
		attention: newAttention(l, name+".attentions.0", c),
	}
}

// Forward consumes x.
func (m *midBlock) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	x = m.resnets[0].Forward(r, x)
	x = m.attention.Forward(r, x)
	return m.resnets[1].Forward(r, x)
}

// stage is DownEncoderBlock3D or UpDecoderBlock3D: residual blocks, then a
// sampler where there is one.
type stage struct {
	resnets []*resnet
	down    *causalConv
	up      *upsampler
}

func newStage(l *loader, name string, blocks, cin, cout int) *stage {
	s := &stage{}
	for i := range blocks {
		s.resnets = append(s.resnets, newResnet(l, fmt.Sprintf("%s.resnets.%d", name, i), cin, cout))
		cin = cout
	}
	return s
}

// Forward consumes x.
func (s *stage) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	for _, b := range s.resnets {
		x = b.Forward(r, x)
	}
	if s.down != nil {
		y := s.down.Forward(r, x, nil)
		r.free(x)
		return y
	}
	if s.up != nil {
		return s.up.Forward(r, x)
	}
	return x
}

// seedVR2 is one direction of SeedVR2's VAE: Encoder3D or Decoder3D of
// attn_video_vae.py. The mid block comes last in the encoder, first in the
// decoder.
type seedVR2 struct {
	name    string // "encoder" or "decoder"
	convIn  *causalConv
	mid     *midBlock
	stages  []*stage
	normOut *groupNorm
	convOut *causalConv
}

func newSeedVR2Encoder(l *loader, c Config) *network {
	l.half = "encoder"
	n := &seedVR2{name: l.half, convIn: newCausalConv(l, "encoder.conv_in", c.Channels, c.Widths[0], 3, 1, 1)}
	in := c.Widths[0]
	for i, w := range c.Widths {
		name := fmt.Sprintf("encoder.down_blocks.%d", i)
		s := newStage(l, name, c.Blocks, in, w)
		if i < len(c.TimeDown) {
			kt, step := 1, 1
			if c.TimeDown[i] {
				kt, step = 3, 2
			}
			s.down = newCausalConv(l, name+".downsamplers.0.conv", w, w, kt, step, 2)
		}
		n.stages = append(n.stages, s)
		in = w
	}
	n.mid = newMidBlock(l, "encoder.mid_block", in)
	n.normOut = l.groupNorm("encoder.conv_norm_out", in, true)
	n.convOut = newCausalConv(l, "encoder.conv_out", in, 2*c.Latent, 3, 1, 1)
	return &network{half: l.half, all: n}
}

func newSeedVR2Decoder(l *loader, c Config) *network {
	l.half = "decoder"
	in := c.Decoder[0]
	n := &seedVR2{name: l.half, convIn: newCausalConv(l, "decoder.conv_in", c.Latent, in, 3, 1, 1)}
	n.mid = newMidBlock(l, "decoder.mid_block", in)
	for i := range c.Widths {
		w := c.Decoder[i]
		name := fmt.Sprintf("decoder.up_blocks.%d", i)
		s := newStage(l, name, c.Blocks+1, in, w)
		if i < len(c.TimeUp) {
			z := 1
			if c.TimeUp[i] {
				z = 2
			}
			s.up = newUpsampler(l, name+".upsamplers.0", w, z)
		}
		n.stages = append(n.stages, s)
		in = w
	}
	n.normOut = l.groupNorm("decoder.conv_norm_out", in, true)
	n.convOut = newCausalConv(l, "decoder.conv_out", in, c.Channels, 3, 1, 1)
	return &network{half: l.half, all: n}
}

// Forward consumes x.
func (n *seedVR2) Forward(r *recorder, x wgsl.Tensor) wgsl.Tensor {
	block := "up_blocks"
	if n.name == "encoder" {
		block = "down_blocks"
	}
	in := x
	x = n.convIn.Forward(r, in, nil)
	r.free(in)
	r.mark(n.name+".conv_in", x)
	if n.name == "decoder" {
		x = n.mid.Forward(r, x)
		r.mark(n.name+".mid_block", x)
	}
	for i, s := range n.stages {
		x = s.Forward(r, x)
		r.mark(fmt.Sprintf("%s.%s.%d", n.name, block, i), x)
	}
	if n.name == "encoder" {
		x = n.mid.Forward(r, x)
		r.mark(n.name+".mid_block", x)
	}
	h := n.normOut.Forward(r, x)
	r.free(x)
	r.mark(n.name+".conv_act", h)
	y := n.convOut.Forward(r, h, nil)
	r.free(h)
	r.mark(n.name+".conv_out", y)
	return y
}
