package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/terminal"
	"tessera/format"
	"tessera/format/file"
	"tessera/format/quote"
	"tessera/gpu"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

type infoCmd struct {
	File string `arg:"" help:"Checkpoint, latent or video; - is standard input."`
	forceFlag
	deviceFlags
}

// Help is shown below the flags.
func (infoCmd) Help() string {
	return `What a model needs is planned for the adapter that would be taken, without running anything; where there is none, for one with WebGPU's default limits. Of a video no picture is decoded: its packets are counted, and "about" says that frames may be more or fewer.

    tessera info ema_vae_fp16.safetensors
    tessera info Wan2.1_VAE.pth`
}

func (c *infoCmd) Run(a *app) (err error) {
	if c.File, err = a.streams.Input(a.ctx, c.File); err != nil {
		return err
	}
	f, err := interrupt.Await(a.ctx, func() (format.File, error) { return format.Open(c.File) })
	if err != nil {
		return cmp.Or(a.ctx.Err(), a.noTensors(c.File, err))
	}
	defer machine.CloseFile(a.ctx, f)
	settings := c.settings(c.forceFlag)
	config, err := a.machines.CheckFile(a.ctx, f, settings)
	if err != nil {
		return cmp.Or(a.ctx.Err(), a.noModel(f, err))
	}
	adapter, err := c.adapter(a)
	if err != nil {
		return err
	}
	m, err := vae.InspectFile(f, adapter, settings)
	if err != nil {
		return err
	}
	m.Config.Print = config.Print
	return a.model(m, adapter)
}

// noTensors tells of a file that can't be opened as one of tensors, for the
// reason err: it may be a video, or a latent in .npy or .npz.
func (a *app) noTensors(path string, err error) error {
	ext := strings.ToLower(filepath.Ext(path))
	if ext == ".bin" { // it may be a cache of several latents
		if l, err := interrupt.Await(a.ctx, func() (latent.Latent, error) { return inspectArray(path) }); err == nil {
			return a.latent(path, l)
		}
	}
	if slices.Contains([]string{".pth", ".pt", ".ckpt", ".bin", ".safetensors", ".latent", ".json"}, ext) {
		return job.Mark(err, job.ErrInput)
	}
	clip, clipErr := media.Inspect(a.ctx, path)
	if clipErr == nil {
		return a.video(path, clip)
	}
	if ext != ".npy" && ext != ".npz" {
		return clipErr
	}
	l, err := interrupt.Await(a.ctx, func() (latent.Latent, error) { return inspectArray(path) })
	if err != nil {
		return err
	}
	return a.latent(path, l)
}

// inspectArray reads the header of a latent in .npy or .npz.
func inspectArray(path string) (latent.Latent, error) {
	f, size, err := file.Open(path)
	if err != nil {
		return latent.Latent{}, job.Mark(err, job.ErrInput)
	}
	defer f.Close()
	return media.InspectLatent(f, size, path, media.LatentOptions{})
}

// noModel tells of tensors that are no model, for the reason err: they may be a
// video or a latent.
func (a *app) noModel(f format.File, err error) error {
	if clip, err := media.InspectFile(f); err == nil {
		return a.video(f.Name(), clip)
	}
	if !errors.Is(err, vae.ErrUnknownModel) {
		return err
	}
	l, latentErr := media.InspectLatentFile(f, media.LatentOptions{})
	switch {
	case latentErr == nil:
		return a.latent(f.Name(), l)
	case strings.EqualFold(filepath.Ext(f.Name()), ".latent") || len(f.Names()) == 1: // no model has so few
		return latentErr
	}
	return err
}

// adapter is the one that would be taken. Where there is none, and none was
// asked for by number, it is one with default limits.
func (c *infoCmd) adapter(a *app) (gpu.Info, error) {
	dev, err := machine.OpenDevice(c.options())
	if err == nil {
		defer dev.Close()
		return dev.Info(), nil
	}
	if c.Adapter.first() >= 0 {
		return gpu.Info{}, job.Mark(err, job.ErrNoDevice)
	}
	reason, _, _ := strings.Cut(err.Error(), "\n")
	a.Note("no device (%s): planning for WebGPU's default limits", reason)
	return gpu.Info{Name: "an adapter with default limits", Limits: gpu.DefaultLimits}, nil
}

func (a *app) latent(path string, l latent.Latent) error {
	if a.JSON {
		told := map[string]any{"kind": "latent", "file": terminal.FileName(a.Spoken(path)), "shape": l.Shape(), "metadata": l.Meta}
		if len(l.Notes) > 0 {
			told["notes"] = l.Notes
		}
		return a.Print(told)
	}
	what := "latent"
	switch {
	case l.Clips() > 1:
		what = fmt.Sprintf("batch of %d latents", l.Clips())
	case l.Images:
		what = "batch of pictures"
	}
	a.Say("%s: %s of %d channels, %s, %dx%d cells", path, what, l.Channels, terminal.Frames(l.Frames), l.Height, l.Width)
	for _, text := range l.Notes {
		a.Say("  %s", text)
	}
	a.metadata("  ", l.Meta)
	return nil
}

// metadata prints what a file says of itself.
func (a *app) metadata(head string, meta map[string]string) {
	told, more := quote.Map(meta)
	for _, key := range slices.Sorted(maps.Keys(told)) {
		a.Say("%s%s: %s", head, key, told[key])
	}
	if more > 0 {
		a.Say("%sand %d more", head, more)
	}
}

func (a *app) video(path string, v media.Summary) error {
	if v.Damage != "" {
		a.Warn("%s: damaged: %s", path, v.Damage)
	}
	for _, text := range v.Warnings {
		a.Warn("%s: %s", path, text)
	}
	if a.JSON {
		told := map[string]any{"kind": "video", "file": terminal.FileName(a.Spoken(path)), "frames": v.Frames, "height": v.Height, "width": v.Width, "fps": v.FPS.Float()}
		if v.About {
			told["frames_estimated"] = true
		}
		if v.Damage != "" {
			told["damage"] = v.Damage
		}
		if v.Aspect.Known() {
			told["sample_aspect"] = v.Aspect.String()
		}
		if len(v.Notes) > 0 {
			told["notes"] = v.Notes
		}
		if len(a.Warnings) > 0 {
			told["warnings"] = a.Warnings
		}
		return a.Print(told)
	}
	rate, about := "", ""
	if v.FPS.Known() {
		rate = fmt.Sprintf(", %s frames/s", v.FPS)
	}
	if v.About {
		about = "about "
	}
	if v.Aspect.Known() {
		rate += fmt.Sprintf(", each %s as wide as high", v.Aspect)
	}
	a.Say("%s: video of %s%s of %dx%d pixels%s", path, about, terminal.Frames(v.Frames), v.Height, v.Width, rate)
	for _, text := range v.Notes {
		a.Say("  %s", text)
	}
	return nil
}
