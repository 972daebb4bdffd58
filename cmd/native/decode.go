package main

import (
	"cmp"

	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

type decodeCmd struct {
	modelFlag
	forceFlag
	Latent string `arg:"" help:"Latent: .safetensors, .latent or .npy."`
	Output string `short:"o" required:"" placeholder:"OUT" help:"Video: a folder of PNG, .png, .y4m, .npy, .safetensors, or by ffmpeg .mp4, .mov, .mkv, .webm."`
	scaleFlag
	framesFlag
	FPS rateFlag `name:"fps" placeholder:"RATE" help:"Frame rate, such as 25 or 30000/1001; default that of the encoded video, else 24."`
	deviceFlags
	tileFlags
}

// Help is shown below the flags.
func (decodeCmd) Help() string {
	return `Size and number of frames are those of the video that was encoded, where the latent's metadata tells them. --scale none leaves Wan's pixels unclamped in files of floats.

    tessera decode -m ema_vae_fp16.safetensors latent.safetensors -o out.mp4
    tessera decode -m ema_vae_fp16.safetensors latent.safetensors -o frames --tile 384 --memory 6GiB
    tessera decode -m Wan2.1_VAE.pth latent.safetensors -o out.mp4 --tiling exact --tile 384
    tessera decode -m qwen_image_vae.safetensors ComfyUI_00001_.latent -o out.png`
}

func (c *decodeCmd) Run(a *app) error {
	settings := c.settings(c.forceFlag)
	config, err := a.check(c.Model, settings)
	if err != nil {
		return err
	}
	z, was, err := a.readLatent(c.Latent, config, c.framesFlag)
	if err != nil {
		return err
	}
	format := media.Format{
		Frames: cmp.Or(was.Frames, framesOf(z.Frames, config, was.Images)),
		Height: cmp.Or(was.Height, z.Height*config.Spatial), Width: cmp.Or(was.Width, z.Width*config.Spatial),
		Channels: config.Channels, FPS: cmp.Or(latent.Rational(c.FPS), was.FPS),
	}
	sink, err := media.Create(a.ctx, c.Output, format)
	if err != nil {
		return err
	}
	defer sink.Abort()
	e, err := a.open(c.deviceFlags, c.Model, settings)
	if err != nil {
		return err
	}
	defer e.close()
	o := vae.DecodeOptions{
		Options: c.tileFlags.options(), RGBA8: !sink.NeedsFloat(),
		Frames: format.Frames, Height: format.Height, Width: format.Width,
	}
	o.Independent = was.Images
	scale := a.scaleOf(c.Latent, c.scaleFlag, was, config)
	o.Unscaled = scale == latent.ScaleNone
	s, err := a.decode(e, z, o, func(f vae.Frame) error {
		if o.RGBA8 {
			return sink.WriteRGBA8(f.RGBA)
		}
		return sink.WriteFrame(f.Pixels)
	})
	if err != nil {
		return err
	}
	if err := sink.Close(); err != nil {
		return err
	}
	r := a.result("decode", e, c.Model, c.Latent)
	r.clip(format)
	r.Decode, r.Scale, r.Pictures = s, scale, was.Images
	r.Latent = z.Shape()
	r.Outputs = []string{c.Output}
	return a.finish(r)
}

// framesOf are those that so many latent frames decode to.
func framesOf(latent int, c vae.Config, independent bool) int {
	if independent {
		return latent
	}
	return 1 + (latent-1)*c.Temporal
}

// decode runs the decoder, hands every frame to take, and measures.
func (a *app) decode(e *engine, z latent.Latent, o vae.DecodeOptions, take func(vae.Frame) error) (*stage, error) {
	l, err := e.model.PlanDecode(z.Frames, z.Height, z.Width, o.Options)
	if err := a.settle("decode", e.model.Config, l, &o.Options, err); err != nil {
		return nil, err
	}
	p := a.progress("decode", framesOf(z.Frames, e.model.Config, o.Independent))
	defer p.done()
	o.Progress = p.update
	for f, err := range e.model.Decode(a.ctx, z, o) {
		if err != nil {
			return nil, err
		}
		if err := take(f); err != nil {
			return nil, err
		}
	}
	return newStage(l, o.Frames, p.done()), nil
}
