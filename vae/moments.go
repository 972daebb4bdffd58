package vae

import (
	"math"

	"tessera/wgsl"
)

// Draw draws a latent from moments, as encoding with the same seed does, in the model's
// own numbers. It draws the clips of a batch one after another.
func Draw(moments Latent, seed uint64) Latent {
	z := moments.Mean()
	z.Data = make([]float32, len(z.Data))
	c, cells := z.Channels, z.Height*z.Width
	noise := make([]float32, c*cells) // [h, w, C]
	for t := range z.Clips() * z.Frames {
		wgsl.Noise(noise, seed, uint64(t*len(noise)))
		clip, frame := t/z.Frames, t%z.Frames
		for i, n := range noise {
			at := (i%c*z.Frames+frame)*cells + i/c
			m := moments.Data[clip*2*c*z.Frames*cells:]
			logvar := min(max(float64(m[c*z.Frames*cells+at]), -30), 20)
			z.Data[clip*c*z.Frames*cells+at] = m[at] + float32(math.Exp(logvar/2))*n
		}
	}
	return z
}
