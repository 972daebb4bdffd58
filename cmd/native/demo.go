package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"tessera/assets"
	"tessera/media"
)

type demoCmd struct {
	Output string `short:"o" default:"out/demo" placeholder:"DIR" help:"Folder for the results; default out/demo."`
	deviceFlags
	tileFlags
}

// Help is shown below the flags.
func (demoCmd) Help() string {
	return `The clip and a small trained model are part of the program. The folder gets the decoded frames, the latent, a sheet of original | decoded | difference and, where ffmpeg is installed, an mp4.

    tessera demo`
}

func (c *demoCmd) Run(a *app) error {
	scratch, err := os.MkdirTemp("", "tessera-demo-*")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	defer os.RemoveAll(scratch)
	model, video, err := assets.Extract(scratch)
	if err != nil {
		return err
	}
	clip, err := media.Open(a.ctx, video, 3)
	if err != nil {
		return err
	}
	defer clip.Close()
	remove, err := makeFolder(c.Output)
	if err != nil {
		return err
	}
	defer remove()
	h, w := clip.Size()
	format := media.Format{Frames: clip.Frames(), Height: h, Width: w, FPS: media.Rational{Num: 12, Den: 1}}
	a.note("encoding and decoding %s of %dx%d with a small trained model", frames(format.Frames), h, w)
	sinks, outputs, err := c.create(a, format)
	defer func() {
		for _, s := range sinks {
			s.Abort()
		}
	}()
	if err != nil {
		return err
	}
	e, err := a.open(c.deviceFlags, model)
	if err != nil {
		return err
	}
	defer e.close()
	a.note("on %s (%s)", e.dev.Info().Name, e.dev.Info().Backend)
	t := &trip{app: a, engine: e, clip: clip, sinks: sinks, numbers: encodeNumbers{scale: media.ScalePipeline}}
	r := a.result("demo", e, "tiny-seedvr2 (built in)", "demo clip (built in)")
	r.clip(format)
	if err := t.run(c.tileFlags.options(), r); err != nil {
		return err
	}
	for _, s := range sinks {
		err = errors.Join(err, s.Close())
	}
	latent, sheet := filepath.Join(c.Output, "latent.safetensors"), filepath.Join(c.Output, "sheet.png")
	if err = errors.Join(err, media.WriteLatent(latent, t.latent), t.sheet.WritePNG(sheet)); err != nil {
		return err
	}
	r.Outputs = append(outputs, latent, sheet)
	return a.finish(r)
}

// makeFolder makes a folder, and a function that removes it if it is still
// empty; one that was there before stays.
func makeFolder(path string) (remove func(), err error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return func() {}, nil
	}
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	return func() { os.Remove(path) }, nil
}

// create begins the videos that the demo writes.
func (c *demoCmd) create(a *app, f media.Format) (sinks []*media.Sink, outputs []string, err error) {
	outputs = []string{filepath.Join(c.Output, "decoded")}
	if media.HaveFFmpeg() {
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
