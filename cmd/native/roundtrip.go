package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

type roundtripCmd struct {
	modelFlag
	forceFlag
	Video  string `arg:"" help:"Video: a folder of PNG, .png, .y4m, .npy, .safetensors, or anything ffmpeg reads."`
	Output string `short:"o" required:"" placeholder:"OUT" help:"Decoded video, as for decode; OUT-sheet.png beside it shows original, decoded and difference."`
	sampleFlags
	framesFlag
	FPS rateFlag `name:"fps" placeholder:"RATE" help:"Frame rate of the output; default that of the video, else 24."`
	deviceFlags
	tileFlags
}

// Help is shown below the flags.
func (roundtripCmd) Help() string {
	return `PSNR is taken over values clamped to [-1,1] with a peak of 2, SSIM with an 11x11 Gaussian window per colour channel.

    tessera roundtrip -m ema_vae_fp16.safetensors in.mp4 -o out.mp4
    tessera roundtrip -m Wan2.1_VAE.pth in.mp4 -o out.mp4`
}

func (c *roundtripCmd) Run(a *app) error {
	settings := c.settings(c.forceFlag)
	config, err := a.check(c.Model, settings)
	if err != nil {
		return err
	}
	clip, err := media.Open(a.ctx, c.Video, config.Channels)
	if err != nil {
		return err
	}
	defer clip.Close()
	h, w := clip.Size()
	format := media.Format{
		Frames: clip.Frames(), Height: h, Width: w, Channels: clip.Channels(),
		FPS: cmp.Or(latent.Rational(c.FPS), clip.FPS()),
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
	r := a.result("roundtrip", e, c.Model, c.Video)
	r.clip(format)
	t := &trip{app: a, engine: e, clip: clip, sinks: []*media.Sink{sink}, numbers: encodeNumbers{independent: c.framesFlag.or(config.Independent), sampleFlags: c.sampleFlags}}
	if err := t.run(c.tileFlags.options(), r); err != nil {
		return err
	}
	sheet := sheetName(c.Output)
	if err := sink.Close(); err != nil {
		return err
	}
	if err := t.sheet.WritePNG(sheet); err != nil {
		return err
	}
	r.Outputs = []string{c.Output, sheet}
	a.perFrame(r.Quality)
	return a.finish(r)
}

// sheetName is the picture's name beside the output's.
func sheetName(output string) string {
	output = filepath.Clean(output)
	if info, err := os.Stat(output); err != nil || !info.IsDir() {
		output = strings.TrimSuffix(output, filepath.Ext(output))
	}
	return output + "-sheet.png"
}

// perFrame prints the quality of each frame.
func (a *app) perFrame(q *quality) {
	a.say("frame       PSNR   SSIM")
	for i, f := range q.Frames {
		a.say("%5d  %9v  %.3f", i, f.PSNR, f.SSIM)
	}
}

// trip encodes a clip, decodes it again and compares.
type trip struct {
	*app
	*engine
	clip    media.Clip
	numbers encodeNumbers
	sinks   []*media.Sink

	latent latent.Latent // made by the way
	sheet  *media.Sheet
}

// run does both directions and fills in what r lacks.
func (t *trip) run(o vae.Options, r *result) error {
	z, s, err := t.encode(t.engine, t.clip, t.numbers.options(o))
	if err != nil {
		return err
	}
	r.Encode, r.Pictures = s, t.numbers.independent
	z.Meta = metadata(t.clip, t.numbers)
	t.latent = z
	r.Latent = t.latent.Shape()

	h, w := t.clip.Size()
	channels := t.clip.Channels()
	quality, original := media.NewQuality(h, w, channels), make([]float32, h*w*channels)
	t.sheet = media.NewSheet(h, w, channels, t.clip.Frames(), media.SheetOptions{})
	d := vae.DecodeOptions{Options: o, Frames: t.clip.Frames(), Height: h, Width: w}
	d.Unscaled, d.Independent = t.numbers.scale == latent.ScaleNone, t.numbers.independent
	r.Decode, err = t.decode(t.engine, z, d, func(f vae.Frame) error {
		if err := t.clip.ReadFrame(f.Index, original); err != nil {
			return err
		}
		q := quality.Add(original, f.Pixels)
		t.sheet.Add(f.Index, original, f.Pixels, fmt.Sprintf("%.1f dB  SSIM %.3f", q.PSNR, q.SSIM))
		for _, sink := range t.sinks {
			if err := sink.WriteFrame(f.Pixels); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	r.Quality = newQuality(quality)
	r.device(t.dev.Stats())
	r.Warnings = t.warnings
	return nil
}
