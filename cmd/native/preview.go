package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tessera/app/files"
	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/media"
	"tessera/vae"
)

// checkPreview refuses, without a device, a checkpoint that cannot preview another one's
// decode.
func (c *decodeCmd) checkPreview(a *app, of vae.Config, d job.Decoding) error {
	s := c.Settings(c.Forcing)
	s.As = "" // it is about the other checkpoint
	tiny, err := a.machines.CheckFor(a.ctx, c.PreviewModel, s, "decode")
	if err == nil {
		of, err = of.As(d.Options.As)
	}
	if err == nil {
		_, err = tiny.StandInFor(of)
	}
	if err != nil {
		return job.Mark(fmt.Errorf("--preview-model=%s: %w", c.PreviewModel, err), job.ErrInput)
	}
	return nil
}

// previews returns the preview files of the clips, beside their outputs. Their format is
// one that any viewer opens, whatever the outputs' is.
func (c *decodeCmd) previews(clips files.Outputs, d job.Decoding) (all files.Outputs) {
	if c.PreviewModel == "" {
		return nil
	}
	ext := ".mp4"
	if d.Clip.Frames == 1 {
		ext = ".png"
	}
	for _, o := range clips {
		folder, name := filepath.Split(filepath.Clean(o.Path))
		if info, err := os.Stat(o.Path); err != nil || !info.IsDir() {
			name = strings.TrimSuffix(name, filepath.Ext(strings.TrimLeft(name, ".")))
		}
		path := folder + name + ".preview" + ext
		all = append(all, files.Named("the preview "+path, path))
	}
	return all
}

// preview decodes the clips with the preview's checkpoint into files, and reports where
// they are. remove deletes them.
func (c *decodeCmd) preview(a *app, e *machine.Machine, d job.Decoding, to files.Outputs) (remove func(), err error) {
	var written []string
	remove = func() {
		for _, path := range written {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) { // on Windows a player may have it open
				a.Warn("the preview %s can't be removed: %v", path, err)
			}
		}
	}
	defer func() {
		if err != nil {
			remove()
		}
	}()
	s := c.Settings(c.Forcing)
	s.As, s.Precision = "", vae.F16
	if e.Model.Elem.Bytes() == 4 {
		s.Precision = vae.F32
	}
	tiny, err := interrupt.Await(a.ctx, func() (*vae.Model, error) { return vae.Open(e.Device, c.PreviewModel, s) })
	if err != nil {
		return remove, err
	}
	defer tiny.Close()
	if d, err = d.Preview(e.Model.Config, tiny); err != nil {
		return remove, err
	}
	var sink *media.Sink
	defer func() {
		if sink != nil {
			sink.Abort()
		}
	}()
	none := func(*vae.DecodePlan) error { return nil }
	err = d.Run(a.ctx, tiny, vae.Watch{}, none, func(clip int, f vae.Frame) (err error) {
		path := to[clip].Path
		if f.Index == 0 {
			if sink, err = media.Create(a.ctx, path, d.Clip); err != nil {
				return err
			}
		}
		if err := sink.WriteRGBA8(f.RGBA); err != nil || f.Index < d.Clip.Frames-1 {
			return err
		}
		if err := c.Vacant(to[clip : clip+1]); err != nil {
			return err
		}
		if err := sink.Close(); err != nil {
			return err
		}
		written = append(written, path)
		a.Note("preview: %s, until the output is complete", path)
		return nil
	})
	e.Device.ResetPeaks() // the reported peaks are the decode's
	return remove, err
}
