package main

import (
	"cmp"
	"errors"
	"fmt"

	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/latent"
	"tessera/media"
)

type encodeCmd struct {
	modelFlag
	forceFlag
	Video  string `arg:"" help:"Video: .png, .jpg, .webp, .tiff, .exr, a folder of such or a pattern like frame_%04d.png, .y4m, .npy, .safetensors, .pt, or anything ffmpeg reads."`
	Output string `short:"o" required:"" placeholder:"OUT" help:"Latent: .safetensors, .latent or .npy."`
	Format string `placeholder:"FORMAT" help:"Format of --output=-, standard output: safetensors, latent or npy; default safetensors."`
	clobberFlag
	scaleFlag
	cacheFlags
	Moments bool `xor:"numbers" help:"Write mean and log-variance, unscaled, instead of a latent."`
	sampleFlags
	framesFlag
	videoFlags
	deviceFlags
	profileFlag
	tileFlags
}

// sampleFlags choose how a latent is made of its distribution.
type sampleFlags struct {
	Sample bool    `xor:"numbers" help:"Draw the latent from its distribution; default is the mean."`
	Seed   *uint64 `placeholder:"N" help:"Seed of --sample; the same on every device. Default 0."`
}

// Validate refuses the seed of a sample that isn't drawn.
func (f sampleFlags) Validate() error {
	if f.Seed != nil && !f.Sample {
		return fmt.Errorf("--seed=%d without --sample: the mean has no seed", *f.Seed)
	}
	return nil
}

// choose fills in what the flags say.
func (f sampleFlags) choose(w *job.Choices) {
	w.Sample = f.Sample
	if f.Seed != nil {
		w.Seed = *f.Seed
	}
}

// Help is shown below the flags.
func (encodeCmd) Help() string {
	return `A video of any size and length will do: it is padded, and the latent's metadata keeps what decoding has to trim.

    tessera encode -m ema_vae_fp16.safetensors in.mp4 -o latent.safetensors
    tessera encode -m ema_vae_fp16.safetensors frames -o latent.npy --scale none --moments
    tessera encode -m wan2.2_vae.safetensors in.mp4 -o in.latent
    tessera encode -m qwen_image_vae.safetensors photo.png -o photo.safetensors
    tessera encode -m Wan2.1_VAE.pth cut.mp4 -o latent.safetensors --accept-damaged
    tessera encode -m Wan2.1_VAE.pth clip.mp4 -o cache/clip.safetensors --cache musubi
    ffmpeg -i in.mov -f yuv4mpegpipe - | tessera encode -m Wan2.1_VAE.pth - -o latent.safetensors`
}

// Validate refuses a scale for moments, which have none, and what its flags do.
func (c *encodeCmd) Validate() error {
	if c.Moments && c.scaleFlag.choice() == latent.ScalePipeline {
		return errors.New("--moments with --scale=pipeline: moments are the model's own numbers, expected --scale=none or no --scale")
	}
	if c.cacheFlags.on() && c.Output == files.Stream {
		return errors.New("--output=-: a cache of latents is a file, expected its name")
	}
	return cmp.Or(c.sampleFlags.Validate(), c.tileFlags.Validate(), c.cacheFlags.Validate())
}

func (c *encodeCmd) Run(a *app) error {
	if err := a.streams.Output(c.Output, c.Format, "safetensors", "latent", "npy"); err != nil {
		return err
	}
	a.machines.Profiling = c.Profile.on
	out := append(files.Outputs{files.Named("--output="+c.Output, c.Output)}, c.profileFlag.outputs()...)
	in := files.Inputs{files.Named("checkpoint", c.Model), files.Named("input", files.Given(c.Video)), files.Named("library", c.Dawn)}
	if err := c.begin(out, in); err != nil {
		return err
	}
	if err := media.CheckLatentName(a.streams.Name(c.Output)); err != nil {
		return err
	}
	settings := c.settings(c.forceFlag)
	config, err := a.machines.CheckFor(a.ctx, c.Model, settings, "encode")
	if err != nil {
		return err
	}
	if c.Video, err = a.streams.Input(a.ctx, c.Video); err != nil {
		return err
	}
	clip, err := c.video(a, c.Video, config.Channels)
	if err != nil {
		return err
	}
	defer clip.Close()
	if c.Output != files.Stream {
		if err := media.CheckLatentOutput(c.Output); err != nil {
			return err
		}
	}
	o, err := job.Encode(config, formatOf(clip), a.streams.Name(c.Output), c.choices())
	if err != nil {
		return err
	}
	write := func(z latent.Latent) error { return a.writeLatent(c.Output, z) }
	if c.cacheFlags.on() {
		k, err := c.cached(config, o, c.Output)
		if err != nil {
			return err
		}
		c.Output, write = k.path, k.write
		out[0] = files.Named("--output="+k.path, k.path)
		if err := c.begin(out, in); err != nil {
			return err
		}
	}
	e, err := a.machines.Open(a.ctx, c.chosen(), c.Model, settings)
	if err != nil {
		return err
	}
	defer e.Close()
	plan, err := e.PlanEncode(a.ctx, o)
	if err != nil {
		return err
	}
	if err := (files.Disk{Spool: plan.Spool}).Hold(a.Terminal, "encode", clip, plan.Reads()); err != nil {
		return err
	}
	z, s, err := e.Encode(a.ctx, plan, clip, o)
	if err != nil {
		return err
	}
	if err := c.vacant(out); err != nil {
		return err
	}
	if err := write(z); err != nil {
		return err
	}
	if o.Forgotten != "" {
		a.Warn("%s", o.Forgotten)
	}
	r := report.New("encode", e.Device, e.Model, c.Model, a.Spoken(c.Video))
	r.Clip(o.Clip)
	r.Encode, r.Scale, r.Pictures = s, o.Scale, o.Options.Independent
	r.Latent = z.Shape()
	r.Outputs = terminal.FileNames(c.Output)
	if err := c.report(a, r, e); err != nil {
		return err
	}
	return a.finish(r)
}

func (c *encodeCmd) choices() job.Choices {
	w := c.tileFlags.choices()
	w.Scale, w.Independent, w.Moments = c.scaleFlag.choice(), c.Independent, c.Moments
	c.sampleFlags.choose(&w)
	return w
}

// writeLatent writes a latent to a file or standard output.
func (a *app) writeLatent(path string, z latent.Latent) error {
	if path == files.Stream {
		return media.EncodeLatent(a.streams.Out, a.streams.Name(path), z)
	}
	return media.WriteLatent(path, z)
}

// formatOf is what a clip's file tells.
func formatOf(c media.Clip) media.Format {
	h, w := c.Size()
	return media.Format{Frames: c.Frames(), Height: h, Width: w, Channels: c.Channels(), FPS: c.FPS(), Aspect: media.AspectOf(c)}
}
