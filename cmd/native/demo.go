package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tessera/app/files"
	"tessera/app/job"
	"tessera/app/report"
	"tessera/app/terminal"
	"tessera/assets"
	"tessera/cmd/native/flags"
	"tessera/latent"
	"tessera/media"
	"tessera/temporary"
	"tessera/vae"
)

type demoCmd struct {
	Model string `group:"input" everyday:"" short:"m" type:"checkpoint" placeholder:"MODEL" help:"Checkpoint, as for decode; default: the built-in small SeedVR2."`
	flags.Forcing
	Output string `group:"output" everyday:"" short:"o" default:"out/demo" placeholder:"DIR" help:"Output folder; default out/demo."`
	flags.Clobbering
	flags.Pictures
	flags.Device
	flags.Profiling
	flags.Tiles
}

// Help is shown below the flags.
func (demoCmd) Help() string {
	return `The clip and a tiny trained model are part of the program; --model uses another model. The output folder receives the decoded frames, the latent, a sheet of original | decoded | difference and, if ffmpeg is installed, an mp4.

    tessera demo
    tessera demo -m Wan2.1_VAE.pth -o out/wan`
}

func (c *demoCmd) Run(a *app) error {
	if c.Output == files.Stream {
		return terminal.Refused("--output=-: a folder can't go to standard output, expected the name of a folder")
	}
	if err := files.CheckName(c.Output); err != nil {
		return err
	}
	a.machines.Profiling = c.Profile.On
	out := append(c.outputs(), c.Profiling.Outputs()...)
	if err := c.Begin(out, files.Inputs{files.Named("checkpoint", c.Model), files.Named("library", c.Dawn)}); err != nil {
		return err
	}
	files, err := temporary.Mkdir(os.TempDir(), "tessera-demo", 0o700)
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer os.RemoveAll(files.Name())
	defer files.Close()
	model, video, err := assets.Extract(files.Name())
	if err != nil {
		return err
	}
	name := "tiny-seedvr2 (built in)"
	if c.Model != "" {
		model, name = c.Model, c.Model
	}
	settings := c.Settings(c.Forcing)
	config, err := a.machines.CheckFor(a.ctx, model, settings, "encode", "decode")
	if err != nil {
		return err
	}
	if err := job.Comparable(config); err != nil {
		return err
	}
	clip, err := media.Open(a.ctx, video, config.Channels)
	if err != nil {
		return err
	}
	defer clip.Close()
	remove, err := makeFolder(c.Output)
	if err != nil {
		return err
	}
	defer remove()
	latentFile, sheet := filepath.Join(c.Output, "latent.safetensors"), filepath.Join(c.Output, "sheet.png")
	o, err := job.Encode(config, formatOf(clip), latentFile, c.choices())
	if err != nil {
		return err
	}
	a.Note("encoding and decoding %s of %dx%d with %s", terminal.Frames(o.Clip.Frames), o.Clip.Width, o.Clip.Height, c.with(config))
	sinks, outputs, err := c.create(a, o.Again)
	defer func() {
		for _, s := range sinks {
			s.Abort()
		}
	}()
	if err != nil {
		return err
	}
	e, err := a.machines.Open(a.ctx, c.Chosen(), model, settings)
	if err != nil {
		return err
	}
	defer e.Close()
	a.Note("on %s (%s)", e.Device.Info().Name, e.Device.Info().Backend)
	t := &trip{app: a, Machine: e, clip: clip, sinks: sinks}
	if c.Model == "" {
		t.note = assets.Note
	}
	r := report.New("demo", e.Device, e.Model, name, a.Spoken("demo clip (built in)"))
	r.Clip(o.Again)
	r.Scale = o.Scale
	if err := t.run(o, r); err != nil {
		return err
	}
	if err := c.Vacant(out); err != nil {
		return err
	}
	if err := t.write(latentFile, sheet); err != nil {
		return err
	}
	r.Outputs = terminal.FileNames(append(outputs, latentFile, sheet)...)
	if err := c.Report(r, e, programVersion().Version); err != nil {
		return err
	}
	return a.finish(r)
}

func (c *demoCmd) choices() job.Choices {
	w := c.Tiles.Choices()
	w.Independent, w.FPS = c.Independent, latent.Rational{Num: 12, Den: 1}
	return w
}

// outputs returns what the demo may write into its folder.
func (c *demoCmd) outputs() (out files.Outputs) {
	for _, name := range []string{"decoded", "decoded.mp4", "latent.safetensors", "sheet.png"} {
		path := filepath.Join(c.Output, name)
		out = append(out, files.Named("--output="+c.Output+": "+path, path))
	}
	return out
}

// write completes the videos and writes the latent and the sheet.
func (t *trip) write(latentFile, sheet string) (err error) {
	for _, s := range t.sinks {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, media.WriteLatent(latentFile, t.latent), t.sheet.WritePNG(sheet))
}

// with names the model in messages.
func (c *demoCmd) with(config vae.Config) string {
	if c.Model == "" {
		return "the " + assets.Note
	}
	return config.Model + ", " + filepath.Base(c.Model)
}

// makeFolder creates a folder. remove deletes it if it is still empty and did not exist
// before.
func makeFolder(path string) (remove func(), err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return func() {}, nil
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("demo: %w", media.Lasting(err))
	}
	return func() { os.Remove(path) }, nil
}

// create starts the demo's videos. An mp4 has no transparency.
func (c *demoCmd) create(a *app, f media.Format) (sinks []*media.Sink, outputs []string, err error) {
	outputs = []string{filepath.Join(c.Output, "decoded")}
	if media.HaveFFmpeg() && f.Channels == 3 {
		outputs = append(outputs, filepath.Join(c.Output, "decoded.mp4"))
	}
	for _, o := range outputs {
		s, err := media.Create(a.ctx, o, f)
		if err != nil {
			return sinks, nil, err
		}
		sinks = append(sinks, s)
	}
	return sinks, outputs, nil
}
