package main

import (
	"tessera/app/job"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

type decodeCmd struct {
	modelFlag
	forceFlag
	Latent string `arg:"" help:"Latent: .safetensors, .latent or .npy."`
	Output string `short:"o" required:"" placeholder:"OUT" help:"Video: a folder of PNG, .png, .y4m, .npy, .safetensors, or by ffmpeg .mp4, .mov, .mkv, .webm."`
	clobberFlag
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
	out := outputs{{"--output=" + c.Output, c.Output}}
	if err := c.begin(out, inputs{{"checkpoint", c.Model}, {"input", c.Latent}, {"library", c.Dawn}}); err != nil {
		return err
	}
	if err := media.CheckVideoName(c.Output); err != nil {
		return err
	}
	settings := c.settings(c.forceFlag)
	config, err := a.check(c.Model, settings)
	if err != nil {
		return err
	}
	z, err := soon(a.ctx, func() (latent.Latent, error) { return media.ReadLatent(c.Latent, config.Latent) })
	if err != nil {
		return err
	}
	d, err := job.Decode(config, z, c.Latent, c.choices())
	if err != nil {
		return err
	}
	a.tell(d)
	sink, err := media.Create(a.ctx, c.Output, d.Clip)
	if err != nil {
		return err
	}
	defer sink.Abort()
	e, err := a.open(c.deviceFlags, c.Model, settings)
	if err != nil {
		return err
	}
	defer e.close()
	d.Options.RGBA8 = !sink.NeedsFloat()
	s, err := a.decode(e, d, func(f vae.Frame) error {
		if d.Options.RGBA8 {
			return sink.WriteRGBA8(f.RGBA)
		}
		return sink.WriteFrame(f.Pixels)
	})
	if err != nil {
		return err
	}
	if err := c.vacant(out); err != nil {
		return err
	}
	if err := sink.Close(); err != nil {
		return err
	}
	r := a.result("decode", e, c.Model, c.Latent)
	r.clip(d.Clip)
	r.Decode, r.Scale, r.Pictures = s, d.Scale, d.Options.Independent
	r.Latent = z.Shape()
	r.Outputs = []string{c.Output}
	return a.finish(r)
}

func (c *decodeCmd) choices() job.Choices {
	w := c.tileFlags.choices()
	w.Scale, w.Independent, w.FPS = c.scaleFlag.choice(), c.Independent, latent.Rational(c.FPS)
	return w
}

// tell prints what was found out about a latent.
func (a *app) tell(d job.Decoding) {
	for _, text := range d.Notes {
		a.note("%s", text)
	}
	for _, text := range d.Warnings {
		a.warn("%s", text)
	}
}

// decode runs the decoder, hands every frame to take, and measures.
func (a *app) decode(e *machine, d job.Decoding, take func(vae.Frame) error) (*stage, error) {
	plan, err := d.Plan(a.ctx, e.model)
	if err != nil {
		return nil, unplanned(err)
	}
	a.planned("decode", e.model.Config, d.Options.Options, plan.Plan)
	if err := a.room("decode", 0, plan.Spool); err != nil {
		return nil, err
	}
	p := a.progress("decode", d.Whole)
	defer p.done()
	for f, err := range plan.Run(a.ctx, d.Latent, vae.Watch{Progress: p.update}) {
		if err != nil {
			return nil, err
		}
		if err := take(f); err != nil {
			return nil, err
		}
	}
	return newStage(plan.Plan, d.Clip.Frames, p.done()), nil
}
