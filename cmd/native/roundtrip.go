package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

type roundtripCmd struct {
	flags.Checkpoint
	flags.Forcing
	Video  string `arg:"" help:"Video, picture, or folder of pictures; - reads standard input." more:"Formats: .png, .jpg, .webp, .tiff, .exr, patterns such as frame_%04d.png, .y4m, .npy, .safetensors, .pt, and what ffmpeg reads."`
	Output string `group:"output" everyday:"" short:"o" required:"" placeholder:"OUT" help:"Decoded video, as for decode; OUT-sheet.png beside it shows original, decoded and difference."`
	Format string `group:"output" placeholder:"FORMAT" help:"Format of standard output (--output=-), without a sheet: y4m, npy or safetensors; default y4m."`
	flags.Clobbering
	flags.Sampling
	flags.Pictures
	flags.VideoInput
	flags.VideoOutput
	Audio string     `group:"output" default:"input" placeholder:"FROM" help:"File with the sound for the output, or none; default: the input video."`
	FPS   flags.Rate `group:"output" name:"fps" placeholder:"RATE" help:"Frame rate of the output; default: that of the video, else 24."`
	flags.Device
	flags.Profiling
	flags.Tiles
}

// Help is shown below the flags.
func (roundtripCmd) Help() string {
	return `PSNR is computed on values clamped to [-1,1] with a peak of 2; SSIM with an 11x11 Gaussian window per colour channel.

    tessera roundtrip -m ema_vae_fp16.safetensors in.mp4 -o out.mp4
    tessera roundtrip -m Wan2.1_VAE.pth in.mp4 -o out.mp4`
}

// Validate calls the embedded flags' Validate, because kong calls only one.
func (c *roundtripCmd) Validate() error {
	return cmp.Or(c.Sampling.Validate(), c.Tiles.Validate())
}

func (c *roundtripCmd) Run(a *app) error {
	if err := a.streams.Output(c.Output, c.Format, "y4m", "npy", "safetensors"); err != nil {
		return err
	}
	out, sheet := files.Outputs{files.Named("--output="+c.Output, c.Output)}, ""
	if c.Output != files.Stream {
		sheet = sheetName(c.Output)
		out = append(out, files.Named("--output="+c.Output+": its sheet "+sheet, sheet))
	}
	a.machines.Profiling = c.Profile.On
	out = append(out, c.Profiling.Outputs()...)
	if err := c.Begin(out, files.Inputs{files.Named("checkpoint", c.Model), files.Named("input", files.Given(c.Video)), files.Named("sound", c.soundFile()), files.Named("library", c.Dawn)}); err != nil {
		return err
	}
	if err := media.CheckVideoName(a.streams.Name(c.Output)); err != nil {
		return err
	}
	settings := c.Settings(c.Forcing)
	config, err := a.machines.CheckFor(a.ctx, c.Model, settings, "encode", "decode")
	if err != nil {
		return err
	}
	if err := job.Comparable(config); err != nil {
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
	o, err := job.Encode(config, formatOf(clip), "", c.choices())
	if err != nil {
		return err
	}
	sound, asked := c.sound(a, o)
	sink, err := c.CreateVideo(a.ctx, a.streams, c.Output, o.Again, media.CreateOptions{
		Sound: sound, SoundAsked: asked, From: c.Video, Track: int(c.Track), RateAsked: latent.Rational(c.FPS).Known(),
	})
	if err != nil {
		return err
	}
	defer sink.Abort()
	e, err := a.machines.Open(a.ctx, c.Chosen(), c.Model, settings)
	if err != nil {
		return err
	}
	defer e.Close()
	r := report.New("roundtrip", e.Device, e.Model, c.Model, a.Spoken(c.Video))
	r.Clip(o.Again)
	t := &trip{app: a, Machine: e, clip: clip, sinks: []*media.Sink{sink}}
	if err := t.run(o, r); err != nil {
		return err
	}
	if err := c.Vacant(out); err != nil {
		return err
	}
	if err := sink.Close(); err != nil {
		return err
	}
	r.Outputs = terminal.FileNames(c.Output)
	if sheet != "" {
		if err := t.sheet.WritePNG(sheet); err != nil {
			return err
		}
		r.Outputs = append(r.Outputs, terminal.FileName(sheet))
	}
	r.Quality.Print(a.Terminal)
	if err := c.Report(r, e, programVersion().Version); err != nil {
		return err
	}
	return a.finish(r)
}

func (c *roundtripCmd) choices() job.Choices {
	w := c.Tiles.Choices()
	w.Independent, w.FPS = c.Independent, latent.Rational(c.FPS)
	c.Sampling.Choose(&w)
	return w
}

// soundFile returns the file that --audio names, "" for its keywords.
func (c *roundtripCmd) soundFile() string {
	if c.Audio == "input" || c.Audio == "none" {
		return ""
	}
	return c.Audio
}

// sound returns the file that the sound comes from, and whether the user asked for it.
// The input's own sound does not fit if the video plays at another speed.
func (c *roundtripCmd) sound(a *app, o job.Encoding) (file string, asked bool) {
	switch {
	case c.Audio == "none":
		return "", false
	case c.Audio != "input":
		return c.Audio, true
	case o.Clip.FPS.Known() && o.Again.FPS != o.Clip.FPS:
		if media.HasSound(a.ctx, c.Video) {
			a.Warn("%s: its sound is dropped, because --fps %s plays the video at another speed than %s", c.Video, o.Again.FPS, o.Clip.FPS)
		}
		return "", false
	}
	return c.Video, false
}

// sheetName returns the picture's name beside the output.
func sheetName(output string) string {
	output = filepath.Clean(output)
	if info, err := os.Stat(output); err != nil || !info.IsDir() {
		output = strings.TrimSuffix(output, filepath.Ext(output))
	}
	return output + "-sheet.png"
}

// trip encodes a clip, decodes it again and compares.
type trip struct {
	*app
	*machine.Machine
	clip  media.Clip
	sinks []*media.Sink
	note  string // text on the sheet

	latent latent.Latent // between the two directions
	sheet  *media.Sheet
}

// run does both directions and completes r.
func (t *trip) run(o job.Encoding, r *report.Result) error {
	there, back, err := t.plan(o, r.Command)
	if err != nil {
		return err
	}
	if t.latent, r.Encode, err = t.Encode(t.ctx, there, t.clip, o); err != nil {
		return err
	}
	r.Pictures, r.Latent = o.Options.Independent, t.latent.Shape()

	h, w := t.clip.Size()
	channels := t.clip.Channels()
	quality, original := media.NewQuality(h, w, channels), make([]float32, h*w*channels)
	t.sheet = media.NewSheet(h, w, channels, t.clip.Frames(), media.SheetOptions{Note: t.note})
	r.Decode, err = t.Decode(t.ctx, back, o.Back(t.latent), machine.TakerFunc(func(f vae.Frame) error {
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
	}))
	if err != nil {
		return err
	}
	r.Quality = report.NewQuality(quality)
	r.Device(t.Device.Stats())
	return nil
}

// plan plans both directions, to report what either cannot do, and the disk space of
// both, before the work.
func (t *trip) plan(o job.Encoding, command string) (*vae.EncodePlan, *vae.DecodePlan, error) {
	there, err := t.PlanEncode(t.ctx, o)
	if err != nil {
		return nil, nil, err
	}
	back, err := t.PlanDecode(t.ctx, o.Back(o.Latent))
	if err != nil {
		return nil, nil, err
	}
	d := files.Disk{Spool: max(there.Spool, back.Spool)} // the first one is removed before the second is created
	for _, s := range t.sinks {
		d.Output += s.Kept()
	}
	return there, back, d.Hold(t.app.Terminal, command, t.clip, there.Reads())
}
