package main

import (
	"path/filepath"
	"strings"

	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

type encodeCmd struct {
	modelFlag
	forceFlag
	Video  string `arg:"" help:"Video: a folder of PNG, .png, .y4m, .npy, .safetensors, or anything ffmpeg reads."`
	Output string `short:"o" required:"" placeholder:"OUT" help:"Latent: .safetensors, .latent or .npy."`
	scaleFlag
	Moments bool `xor:"numbers" help:"Write mean and log-variance, unscaled, instead of a latent."`
	sampleFlags
	framesFlag
	deviceFlags
	tileFlags
}

// sampleFlags choose how a latent is made of its distribution.
type sampleFlags struct {
	Sample bool   `xor:"numbers" help:"Draw the latent from its distribution; default is the mean."`
	Seed   uint64 `placeholder:"N" help:"Seed of --sample; the same on every device. Default 0."`
}

// Help is shown below the flags.
func (encodeCmd) Help() string {
	return `A video of any size and length will do: it is padded, and the latent's metadata keeps what decoding has to trim.

    tessera encode -m ema_vae_fp16.safetensors in.mp4 -o latent.safetensors
    tessera encode -m ema_vae_fp16.safetensors frames -o latent.npy --scale none --moments
    tessera encode -m wan2.2_vae.safetensors in.mp4 -o in.latent
    tessera encode -m qwen_image_vae.safetensors photo.png -o photo.safetensors`
}

// encodeNumbers say what numbers a latent holds.
type encodeNumbers struct {
	scale       string
	moments     bool
	independent bool
	sampleFlags
}

func (n encodeNumbers) options(o vae.Options) vae.EncodeOptions {
	o.Unscaled, o.Independent = n.scale == latent.ScaleNone, n.independent
	return vae.EncodeOptions{Options: o, Moments: n.moments, Sample: n.Sample, Seed: n.Seed}
}

func (c *encodeCmd) Run(a *app) error {
	settings := c.settings(c.forceFlag)
	config, err := a.check(c.Model, settings)
	if err != nil {
		return err
	}
	comfyUI := strings.EqualFold(filepath.Ext(c.Output), ".latent")
	n := encodeNumbers{c.scaleFlag.or("", comfyUI, config), c.Moments, c.framesFlag.or(config.Independent), c.sampleFlags}
	if c.Moments {
		n.scale = latent.ScaleNone
	}
	clip, err := media.Open(a.ctx, c.Video, config.Channels)
	if err != nil {
		return err
	}
	defer clip.Close()
	if err := media.CheckLatentOutput(c.Output); err != nil {
		return err
	}
	e, err := a.open(c.deviceFlags, c.Model, settings)
	if err != nil {
		return err
	}
	defer e.close()
	z, s, err := a.encode(e, clip, n.options(c.tileFlags.options()))
	if err != nil {
		return err
	}
	z.Meta = metadata(clip, n)
	if err := media.WriteLatent(c.Output, z); err != nil {
		return err
	}
	a.forgotten(e, clip, n.independent, c.Output)
	h, w := clip.Size()
	r := a.result("encode", e, c.Model, c.Video)
	r.clip(media.Format{Frames: clip.Frames(), Height: h, Width: w, FPS: clip.FPS()})
	r.Encode, r.Scale, r.Pictures = s, n.scale, n.independent
	r.Latent = z.Shape()
	r.Outputs = []string{c.Output}
	return a.finish(r)
}

// forgotten warns that a .npy can't keep what the clip was padded from.
func (a *app) forgotten(e *engine, clip media.Clip, independent bool, output string) {
	h, w := clip.Size()
	t2, h2, w2 := e.model.Padded(clip.Frames(), h, w, independent)
	if strings.EqualFold(filepath.Ext(output), ".npy") && (t2 != clip.Frames() || h2 != h || w2 != w) {
		a.warn("%s: .npy keeps no metadata: it will decode to the padded %d frames of %dx%d, not %d of %dx%d",
			output, t2, h2, w2, clip.Frames(), h, w)
	}
}

// encode runs the encoder and measures.
func (a *app) encode(e *engine, clip media.Clip, o vae.EncodeOptions) (latent.Latent, *stage, error) {
	h, w := clip.Size()
	l, err := e.model.PlanEncode(clip.Frames(), h, w, o.Options)
	if err := a.settle("encode", e.model.Config, l, &o.Options, err); err != nil {
		return latent.Latent{}, nil, err
	}
	padded, _, _ := e.model.Padded(clip.Frames(), h, w, o.Independent)
	p := a.progress("encode", padded)
	defer p.done()
	o.Progress = p.update
	z, err := e.model.Encode(a.ctx, clip, o)
	if err != nil {
		return latent.Latent{}, nil, err
	}
	return z, newStage(l, clip.Frames(), p.done()), nil
}
