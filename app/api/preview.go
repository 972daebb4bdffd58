package api

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"tessera/app/job"
	"tessera/media"
	"tessera/vae"
)

// previewsOut are the formats of previews. The default is the first for a clip and png
// for a picture.
var previewsOut = []string{"mp4", "webm", "y4m", "png", "u8"}

// askPreview reads which model previews a decode, and in which format.
func (j *jobRequest) askPreview(a *API, q *query) error {
	name := q.text("preview")
	j.previewOutput = q.one("preview_output", append([]string{""}, previewsOut...)...)
	switch {
	case name == "" && j.previewOutput != "":
		return bad("preview_output without preview, expected preview=MODEL")
	case name == "":
		return nil
	case j.kind != kindDecode:
		return bad("preview needs kind=decode, not %s", j.kind)
	}
	var err error
	if j.preview, err = a.models.find(name); err != nil {
		return err
	}
	of, err := j.model.config.As(j.want.As)
	if err != nil || of.Assumed { // the latent may name its model
		return nil
	}
	if _, err := j.preview.config.StandInFor(of); err != nil {
		return bad("preview: %w", err)
	}
	return nil
}

// preview makes a job's preview before the decode, and announces it.
func (t *turn) preview(j *work, d job.Decoding) error {
	m := j.ask.preview
	tiny, err := t.api.models.on(t.dev, m)
	if err != nil {
		return err
	}
	was := tiny.Config
	defer func() { tiny.Config = was }() // for requests to that model
	tiny.Config.Name(m.path)
	if d, err = d.Preview(t.model.config, tiny); err != nil {
		return err
	}
	f, format := d.Clip, j.ask.previewOutput
	if format == "" && f.Frames == 1 {
		format = "png"
	} else if format == "" {
		format = previewsOut[0]
	}
	now, _ := j.now()
	need := 2 * int64(f.Frames) * int64(f.Height) * int64(f.Width) * int64(f.Channels)
	if err := j.reserve(now.Size + need + 1<<20); err != nil {
		return err
	}
	take, done, err := j.previewTo(format, f)
	if err != nil {
		return err
	}
	err = d.Run(t.ctx, tiny, vae.Watch{}, func(p *vae.DecodePlan) error {
		t.api.models.room(t.dev, m, p.Plan)
		return nil
	}, func(_ int, f vae.Frame) error { return take(f.RGBA) })
	if err = done(err); err != nil {
		return err
	}
	return j.set(false, func(s *state) { s.Preview = format })
}

// previewTo opens the preview's file. done completes it, or removes it after an error.
func (j *work) previewTo(format string, f media.Format) (take func(rgba []byte) error, done func(err error) error, err error) {
	path := filepath.Join(j.folder, "preview."+format)
	if format != "u8" {
		sink, err := media.Create(j.ctx, path, f)
		if err != nil {
			return nil, nil, err
		}
		return sink.WriteRGBA8, func(err error) error {
			if err != nil {
				return errors.Join(err, sink.Abort())
			}
			return sink.Close()
		}, nil
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, err
	}
	j.mu.Lock()
	j.previewShape = []int{f.Frames, f.Height, f.Width, f.Channels}
	j.mu.Unlock()
	pixels := make([]byte, f.Height*f.Width*f.Channels)
	return func(rgba []byte) error {
		for i := range f.Height * f.Width {
			copy(pixels[i*f.Channels:][:f.Channels], rgba[4*i:])
		}
		_, err := file.Write(pixels)
		return err
	}, func(err error) error { return errors.Join(err, file.Close()) }, nil
}

// previews returns the job's preview files, at most one.
func (j *work) previews() []string {
	list, _ := filepath.Glob(filepath.Join(j.folder, "preview.*")) // the pattern is valid
	return list
}

// dropPreview removes the preview; the output takes its disk space.
func (j *work) dropPreview() {
	for _, path := range j.previews() {
		os.Remove(path)
	}
}

// getPreview answers GET /v1/jobs/{id}/preview once the preview exists.
func (a *API) getPreview(w http.ResponseWriter, r *http.Request, _ string) error {
	j, err := a.jobs.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	s, changed := j.now()
	for ; s.Preview == ""; s, changed = j.now() {
		switch {
		case s.over():
			return conflict("the job is %s and its preview was removed", s.State)
		case j.ask.preview == nil:
			return conflict("the job has no preview: start it with preview=MODEL")
		}
		if err := a.await(r, changed); err != nil {
			return err
		}
	}
	f, err := os.Open(filepath.Join(j.folder, "preview."+s.Preview))
	if errors.Is(err, fs.ErrNotExist) { // the job ended just now
		return conflict("the job has ended and its preview was removed")
	}
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	defer f.Close()
	j.mu.Lock()
	shape := j.previewShape
	j.mu.Unlock()
	state{ID: s.ID + "-preview", Output: s.Preview, Shape: shape, Dtype: code}.headers(w.Header())
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(a.patience(info.Size()))
	http.ServeContent(w, r, "", info.ModTime(), f)
	return nil
}
