package main

import (
	"cmp"
	"errors"

	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/latent"
	"tessera/media"
)

type encodeCmd struct {
	flags.Checkpoint
	flags.Forcing
	Video  string `arg:"" help:"Video, picture, or folder of pictures; - reads standard input." more:"Formats: .png, .jpg, .webp, .tiff, .exr, patterns such as frame_%04d.png, .y4m, .npy, .safetensors, .pt, and what ffmpeg reads."`
	Output string `group:"output" everyday:"" short:"o" required:"" placeholder:"OUT" help:"Latent: .safetensors, .latent or .npy; - for standard output."`
	Format string `group:"output" placeholder:"FORMAT" help:"Format of standard output (--output=-): safetensors, latent or npy; default safetensors."`
	flags.Clobbering
	flags.Scaling
	flags.TrainerCache
	Moments bool `group:"latents" xor:"numbers" help:"Write mean and log-variance, unscaled, instead of a latent."`
	flags.Sampling
	flags.Pictures
	flags.VideoInput
	flags.Device
	flags.Profiling
	flags.Tiles
}

// Help is shown below the flags.
func (encodeCmd) Help() string {
	return `The video may have any size and length. It is padded, and the latent's metadata tells decode what to trim.

    tessera encode -m ema_vae_fp16.safetensors in.mp4 -o latent.safetensors
    tessera encode -m qwen_image_vae.safetensors photo.png -o photo.latent
    tessera encode -m ema_vae_fp16.safetensors frames -o latent.npy --scale none --moments
    tessera encode -m wan2.2_vae.safetensors in.mp4 -o in.latent
    tessera encode -m Wan2.1_VAE.pth cut.mp4 -o latent.safetensors --accept-damaged
    tessera encode -m Wan2.1_VAE.pth clip.mp4 -o cache/clip.safetensors --cache musubi
    ffmpeg -i in.mov -f yuv4mpegpipe - | tessera encode -m Wan2.1_VAE.pth - -o latent.safetensors`
}

// Validate refuses a scale for moments, which have none, and what the embedded flags
// refuse.
func (c *encodeCmd) Validate() error {
	if c.Moments && c.Scaling.Choice() == latent.ScalePipeline {
		return errors.New("--moments with --scale=pipeline: moments are the model's own numbers, expected --scale=none or no --scale")
	}
	if c.TrainerCache.Asked() && c.Output == files.Stream {
		return errors.New("--output=-: a cache of latents is a file, expected its name")
	}
	return cmp.Or(c.Sampling.Validate(), c.Tiles.Validate(), c.TrainerCache.Validate())
}

func (c *encodeCmd) Run(a *app) error {
	if err := a.streams.Output(c.Output, c.Format, "safetensors", "latent", "npy"); err != nil {
		return err
	}
	a.machines.Profiling = c.Profile.On
	out := append(files.Outputs{files.Named("--output="+c.Output, c.Output)}, c.Profiling.Outputs()...)
	in := files.Inputs{files.Named("checkpoint", c.Model), files.Named("input", files.Given(c.Video)), files.Named("library", c.Dawn)}
	if err := c.Begin(out, in); err != nil {
		return err
	}
	if err := media.CheckLatentName(a.streams.Name(c.Output)); err != nil {
		return err
	}
	settings := c.Settings(c.Forcing)
	config, err := a.machines.CheckFor(a.ctx, c.Model, settings, "encode")
	if err != nil {
		return err
	}
	if c.Video, err = a.streams.Input(a.ctx, c.Video); err != nil {
		return err
	}
	clip, err := c.OpenVideo(a.ctx, a.Terminal, c.Video, config.Channels)
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
	if c.TrainerCache.Asked() {
		k, err := c.CachedLatent(config, o, c.Output)
		if err != nil {
			return err
		}
		c.Output, write = k.Path, k.Write
		out[0] = files.Named("--output="+k.Path, k.Path)
		if err := c.Begin(out, in); err != nil {
			return err
		}
	}
	e, err := a.machines.Open(a.ctx, c.Chosen(), c.Model, settings)
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
	if err := c.Vacant(out); err != nil {
		return err
	}
	z = o.Written(z)
	if err := write(z); err != nil {
		return err
	}
	for _, text := range o.Doubts() {
		a.Warn("%s", text)
	}
	r := report.New("encode", e.Device, e.Model, c.Model, a.Spoken(c.Video))
	r.Clip(o.Clip)
	r.Encode, r.Scale, r.Pictures = s, o.Scale, o.Options.Independent
	r.Latent = z.Shape()
	r.Outputs = terminal.FileNames(c.Output)
	if err := c.Report(r, e, programVersion().Version); err != nil {
		return err
	}
	return a.finish(r)
}

func (c *encodeCmd) choices() job.Choices {
	w := c.Tiles.Choices()
	w.Scale, w.Independent, w.Moments = c.Scaling.Choice(), c.Independent, c.Moments
	c.Sampling.Choose(&w)
	return w
}

// writeLatent writes a latent to a file or standard output.
func (a *app) writeLatent(path string, z latent.Latent) error {
	if path == files.Stream {
		return media.EncodeLatent(a.streams.Out, a.streams.Name(path), z)
	}
	return media.WriteLatent(path, z)
}

// formatOf returns the format of a clip's file.
func formatOf(c media.Clip) media.Format {
	h, w := c.Size()
	return media.Format{Frames: c.Frames(), Height: h, Width: w, Channels: c.Channels(), FPS: c.FPS(), Aspect: media.AspectOf(c)}
}
