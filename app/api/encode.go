package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"tessera/app/job"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// encodeRequest is a remote_encode request.
type encodeRequest struct {
	model *model
	shape []int // of the body; nil: the body is a picture's file
	dtype dtype
	want  job.Choices
}

// encodeRequest reads the query of a remote_encode request.
func (a *API) encodeRequest(r *http.Request) (*encodeRequest, error) {
	q := newQuery(r.URL.RawQuery)
	e := &encodeRequest{shape: q.shape("shape"), dtype: float}
	if e.shape != nil {
		e.dtype = q.dtype(half, brain, float, code)
	}
	e.want = q.choices(a.o)
	q.draw(&e.want)
	var err error
	if e.model, err = a.models.find(q.text("model")); err != nil {
		return nil, err
	}
	q.scale(&e.want, e.model.config)
	if e.want.Moments && e.want.Scale == latent.ScalePipeline {
		q.refuse(bad("moments are unscaled, expected no scaling"))
	}
	if err := q.end(); err != nil {
		return nil, err
	}
	return e, nil
}

// clips returns the clips in a body of numbers: clips [B,C,T,H,W] or pictures [B,C,H,W].
func (e *encodeRequest) clips(body io.ReaderAt) ([]vae.Clip, error) {
	c, s := e.model.config, e.shape
	f := media.Format{Frames: 1, Channels: c.Channels}
	rgb := len(s) > 1 && s[1] == 3 && c.Channels == 4
	switch {
	case len(s) == 5 && (s[1] == c.Channels || rgb):
		f.Frames, f.Height, f.Width = s[2], s[3], s[4]
	case len(s) == 4 && (s[1] == c.Channels || rgb):
		f.Height, f.Width = s[2], s[3]
	default:
		return nil, bad("shape is %v, expected [B,%d,T,H,W] or [B,%d,H,W] for %s", s, c.Channels, c.Channels, e.model.name)
	}
	if f.Height > maxPixel || f.Width > maxPixel {
		return nil, tooLarge("frames of %dx%d pixels, expected at most %dx%d", f.Width, f.Height, maxPixel, maxPixel)
	}
	var all []vae.Clip
	for i := range s[0] {
		all = append(all, &clip{Format: f, from: body, dtype: e.dtype, first: i * s[1] * f.Frames * f.Height * f.Width, rgb: rgb})
	}
	return all, nil
}

// look checks a sample of a tensor's numbers for values that cannot be pixels, and calls
// warn about probable mistakes.
func (e *encodeRequest) look(body io.ReaderAt, warn func(text string)) error {
	if e.dtype == code {
		return nil
	}
	size := e.dtype.bytes()
	r, err := media.SampleRange(int(bytesOf(e.shape, e.dtype))/size, func(dst []float32, start int) error {
		raw := make([]byte, len(dst)*size)
		if _, err := body.ReadAt(raw, int64(start)*int64(size)); err != nil && err != io.EOF {
			return err
		}
		e.dtype.take(dst, raw)
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.Check(); err != nil {
		return job.BadInput("the tensor: %w", err)
	}
	if text := r.Doubt(); text != "" {
		warn("the tensor: " + text)
	}
	return nil
}

// open checks a tensor's numbers with look and returns its clips.
func (e *encodeRequest) open(body io.ReaderAt, warn func(text string)) ([]vae.Clip, error) {
	if err := e.look(body, warn); err != nil {
		return nil, err
	}
	return e.clips(body)
}

// picture opens a body that is a picture file.
func (a *API) picture(ctx context.Context, m *model, body *spool, warn func(text string)) (c media.Clip, remove func(), err error) {
	path, remove := a.file(pictureExt(body))
	defer func() {
		if err != nil {
			remove()
		}
	}()
	if err := copyTo(path, body); err != nil {
		return nil, nil, err
	}
	c, err = media.OpenWith(ctx, path, m.config.Channels, media.OpenOptions{Warn: func(text string) {
		warn("the picture: " + strings.TrimPrefix(text, path+": "))
	}})
	return c, remove, err
}

// pictureExt returns the extension of a picture's file, "" if the format is unknown.
func pictureExt(body *spool) string {
	head := make([]byte, 16)
	_, _ = body.ReadAt(head, 0) // the body may be shorter
	return media.PictureEnding(head)
}

// copyTo copies a spool to a file.
func copyTo(path string, s *spool) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("api: %w", err)
	}
	defer f.Close()
	if _, err := io.Copy(f, io.NewSectionReader(s, 0, s.size)); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	return f.Close()
}

// remoteEncode answers diffusers' remote_encode.
func (a *API) remoteEncode(w http.ResponseWriter, r *http.Request, client string) error {
	e, err := a.encodeRequest(r)
	if err != nil {
		return err
	}
	if e.shape != nil {
		if _, err := e.clips(nil); err != nil {
			return err
		}
	}
	leave, err := a.places.enter(client)
	if err != nil {
		return err
	}
	defer leave()
	size := r.ContentLength
	if e.shape != nil {
		size = bytesOf(e.shape, e.dtype)
	} else if size < 0 {
		return &problem{status: http.StatusLengthRequired, code: "bad_request", err: fmt.Errorf("a picture without Content-Length, expected its number of bytes")}
	}
	body, err := a.receive(w, r, client, size)
	if err != nil {
		return err
	}
	defer body.Close()
	if e.shape == nil && pictureExt(body) == "" {
		return bad("the body is not a PNG, JPEG, WebP, TIFF or OpenEXR; a tensor needs shape and dtype")
	}
	warn := func(text string) { w.Header().Add("Tessera-Warning", a.message(text)) }
	var clips []vae.Clip
	if e.shape != nil { // refuse before waiting for the device
		if clips, err = e.open(body, warn); err != nil {
			return err
		}
	}
	var out *latents
	defer func() { out.close() }()
	err = a.during(r.Context(), client, e.model, vae.Watch{}, func(t *turn) error {
		if clips == nil {
			c, remove, err := a.picture(t.ctx, e.model, body, warn)
			if err != nil {
				return err
			}
			defer remove()
			defer c.Close()
			clips = []vae.Clip{c}
		}
		out, err = t.latents(e, clips, warn)
		return err
	})
	if err != nil {
		return err
	}
	return a.send(w, tensorHeader(out.shape, e.answers()), out.spool)
}

// answers returns the dtype of the latents: the request's if it is a float type.
func (e *encodeRequest) answers() dtype {
	if e.dtype == code {
		return float
	}
	return e.dtype
}

// latents holds the answer to an encode.
type latents struct {
	spool *spool
	shape []int
}

// close releases the answer's storage; l may be nil.
func (l *latents) close() {
	if l != nil {
		l.spool.Close()
	}
}

// latents encodes clips of one size, one after another.
func (t *turn) latents(e *encodeRequest, clips []vae.Clip, warn func(text string)) (out *latents, err error) {
	h, w := clips[0].Size()
	f := media.Format{Frames: clips[0].Frames(), Height: h, Width: w, Channels: clips[0].Channels()}
	d := e.answers()
	j, err := job.Encode(e.model.config, f, "latent.safetensors", e.want)
	if err != nil {
		return nil, err
	}
	for _, text := range j.Doubts() {
		warn(text)
	}
	out = &latents{shape: append([]int{len(clips)}, j.Written(j.Latent).Shape()...)}
	if out.spool, err = t.api.disk.spool(t.client, bytesOf(out.shape, d)); err != nil {
		return nil, err
	}
	for i, c := range clips {
		z, err := t.encode(j, c)
		if err == nil {
			z = j.Written(z)
			raw := make([]byte, len(z.Data)*d.bytes())
			d.put(raw, z.Data)
			_, err = out.spool.WriteAt(raw, int64(i)*int64(len(raw)))
		}
		if err != nil {
			out.close()
			return nil, err
		}
	}
	if len(e.shape) == 4 {
		out.shape = slices.Delete(out.shape, 2, 3)
	}
	return out, nil
}
