package api

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tessera/app/job"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// queue starts a job whose input is complete: it waits for the device and runs.
func (a *API) queue(j *work) error {
	waits := false
	err := j.set(true, func(s *state) {
		if waits = s.State == stateReceiving; waits { // otherwise it was cancelled
			s.State = stateQueued
		}
	})
	if err != nil {
		j.end(a, err)
		return err
	}
	if !waits {
		return conflict("the job has ended and accepts no more input")
	}
	a.busy.Add(1) // a request or New is running, so the API is not closed yet
	go func() {
		defer a.busy.Done()
		begun := time.Now()
		err := a.during(j.ctx, j.client, j.ask.model, j.watch(), func(t *turn) error {
			begun = time.Now()
			err := j.set(true, func(s *state) {
				if s.State == stateQueued { // otherwise it was cancelled, and ends at once
					s.State = stateRunning
				}
			})
			if err != nil {
				return err
			}
			r, err := t.run(j)
			r.Seconds = time.Since(begun).Seconds()
			_ = j.set(false, func(s *state) { s.Result = &r })
			return err
		})
		j.end(a, err)
	}()
	return nil
}

// watch records the job's progress.
func (j *work) watch() vae.Watch {
	return vae.Watch{
		Progress: func(p vae.Progress) {
			_ = j.set(false, func(s *state) {
				if s.Progress != nil {
					s.Progress = &progress{s.Progress.Stage, p.Done, p.Frame, p.Frames}
				}
			})
		},
		Less: func(was, now *vae.Plan, finished int) { j.warn(job.Less(was, now, finished)) },
	}
}

// begin records the stage that the job enters.
func (j *work) begin(stage string, frames int) {
	_ = j.set(false, func(s *state) { s.Progress = &progress{Stage: stage, Frames: frames} })
}

// warn adds a warning to the job, note a note.
func (j *work) warn(text string) {
	text = j.message(text)
	_ = j.set(false, func(s *state) { s.Warnings = append(s.Warnings, text) })
}

func (j *work) note(text string) {
	text = j.message(text)
	_ = j.set(false, func(s *state) { s.Notes = append(s.Notes, text) })
}

// message removes the server's own paths from a text.
func (j *work) message(text string) string {
	return j.api.message(strings.ReplaceAll(text, j.folder+string(filepath.Separator), ""))
}

// run runs a job.
func (t *turn) run(j *work) (result, error) {
	if j.ask.kind == kindDecode {
		return t.runDecode(j)
	}
	return t.runEncode(j)
}

func (t *turn) runDecode(j *work) (r result, err error) {
	q, c := j.ask, t.model.config
	z, err := q.readLatent(j.input(), c)
	if err != nil {
		return r, err
	}
	d, err := job.Decode(c, z, "the latent", q.want)
	if err != nil {
		return r, err
	}
	for _, text := range d.Doubts() {
		j.warn(text)
	}
	for _, text := range d.Notes {
		j.note(text)
	}
	if q.preview != nil {
		if err := t.preview(j, d); err != nil {
			return r, fmt.Errorf("preview: %w", err)
		}
	}
	out, err := t.api.output(j, d.Clip)
	if err != nil {
		return r, err
	}
	defer out.abort()
	d.Options.RGBA8 = !out.floats
	j.begin(kindDecode, d.Whole)
	if err := t.decode(d, func(_ int, f vae.Frame) error { return out.frame(f.Pixels, f.RGBA) }); err != nil {
		return r, err
	}
	r = resultOf(d.Clip, z.Shape(), d.Scale)
	return r, out.close()
}

// readLatent reads a job's input.
func (q *jobRequest) readLatent(path string, c vae.Config) (z latent.Latent, err error) {
	if q.shape == nil {
		o, err := q.want.Reading(c)
		if err != nil {
			return z, err
		}
		if z, err = media.ReadLatentWith(path, o); err == nil && z.Clips() > 1 {
			err = job.BadInput("a batch of %d clips, expected one", z.Clips())
		}
		return z, err
	}
	if z, err = q.latent(); err != nil {
		return z, err
	}
	f, err := os.Open(path)
	if err != nil {
		return z, err
	}
	defer f.Close()
	z.Batch = 0
	z.Data, err = readFloats(f, q.dtype, z.Channels*z.Frames*z.Height*z.Width)
	return whole(z, q.shape), err
}

func resultOf(f media.Format, shape []int, scale string) result {
	return result{Frames: f.Frames, Height: f.Height, Width: f.Width, FPS: f.FPS.Float(), Latent: shape, Scale: scale}
}

// runEncode runs an encode or a round trip.
func (t *turn) runEncode(j *work) (r result, err error) {
	q, c := j.ask, t.model.config
	if q.kind == kindRoundtrip {
		if err := job.Comparable(c); err != nil {
			return r, err
		}
	}
	clip, err := q.openClip(t.ctx, j, c.Channels)
	if err != nil {
		return r, err
	}
	defer clip.Close()
	h, w := clip.Size()
	f := media.Format{Frames: clip.Frames(), Height: h, Width: w, Channels: clip.Channels(), FPS: clip.FPS(), Aspect: media.AspectOf(clip)}
	name := "latent.safetensors"
	if q.kind == kindEncode {
		name = "latent." + q.output
	}
	e, err := job.Encode(c, f, name, q.want)
	if err != nil {
		return r, err
	}
	j.begin(kindEncode, e.Padded.Frames)
	z, err := t.encode(e, clip)
	if err != nil {
		return r, err
	}
	r = resultOf(e.Clip, e.Written(z).Shape(), e.Scale)
	if q.kind == kindRoundtrip {
		r.Quality, err = t.back(j, e.Back(z), clip)
		return r, err
	}
	for _, text := range e.Doubts() {
		j.warn(text)
	}
	if err := j.reserve(int64(4*len(z.Data)) + 1<<20 + j.state.Size); err != nil {
		return r, err
	}
	return r, media.WriteLatent(j.output(), e.Written(z))
}

// openClip opens a job's input.
func (q *jobRequest) openClip(ctx context.Context, j *work, channels int) (media.Clip, error) {
	if q.shape != nil {
		f, err := openInput(j.input())
		if err != nil {
			return nil, err
		}
		c, err := q.clip(f, j.warn)
		if err != nil {
			f.Close()
		}
		return c, err
	}
	return media.OpenWith(ctx, j.input(), channels, media.OpenOptions{Track: q.track, Warn: j.warn, Note: j.note})
}

// back decodes the encoded latent and compares it with the original.
func (t *turn) back(j *work, d job.Decoding, original media.Clip) (*scores, error) {
	out, err := t.api.output(j, d.Clip)
	if err != nil {
		return nil, err
	}
	defer out.abort()
	j.begin(kindDecode, d.Whole)
	both := job.NewComparison(original)
	err = t.decode(d, func(_ int, f vae.Frame) error {
		if _, err := both.Add(f); err != nil {
			return err
		}
		if out.floats {
			return out.frame(f.Pixels, nil)
		}
		return out.frame(nil, both.RGBA(f))
	})
	if err != nil {
		return nil, err
	}
	s := scores(both.Overall())
	return &s, out.close()
}

// inputFile is an input file that holds a tensor.
type inputFile struct{ *os.File }

func openInput(path string) (*inputFile, error) {
	f, err := os.Open(path)
	return &inputFile{f}, err
}

// tensorFile is the clip in such a file.
type tensorFile struct {
	*clip
	fps  latent.Rational
	from io.Closer
}

func (f *tensorFile) FPS() latent.Rational { return f.fps }
func (f *tensorFile) Close() error         { return f.from.Close() }

// held stores a clip on disk if it is decoded while it is read and the plan reads it
// several times. done releases the disk space.
func (t *turn) held(c vae.Clip, reads int) (done func(), err error) {
	s, streamed := c.(media.Streamed)
	if !streamed || reads < 2 {
		return func() {}, nil
	}
	n := s.KeepBytes()
	if err := t.api.disk.take(t.client, n); err != nil {
		return nil, err
	}
	if err := s.Keep(); err != nil {
		t.api.disk.give(t.client, n)
		return nil, err
	}
	return func() { t.api.disk.give(t.client, n) }, nil
}

// output receives the frames of a job.
type output struct {
	floats bool // frames are floats, not bytes
	frame  func(floats []float32, rgba []byte) error
	close  func() error
	abort  func() // does nothing after close
}

// output opens a job's output. It reserves the output's size, or, where that is unknown,
// half of its pixels' bytes as an upper estimate.
func (a *API) output(j *work, f media.Format) (*output, error) {
	values := int64(f.Frames) * int64(f.Height) * int64(f.Width) * int64(f.Channels)
	need := values + int64(f.Frames)*6 + 1<<10 // y4m, u8
	switch j.ask.output {
	case "f32", "npy", "safetensors", "exr":
		need = 4*values + 1<<16
	case "mp4", "mov", "mkv", "webm":
		need = values/2 + 1<<20
	case "png", "tiff":
		need = 2*values + 1<<16
	}
	for _, path := range j.previews() {
		need += sizeOf(path)
	}
	now, _ := j.now()
	if err := j.reserve(now.Size + need); err != nil {
		return nil, err
	}
	switch j.ask.output {
	case "u8", "f32":
		return j.rawOutput(f)
	}
	return j.videoOutput(f)
}

// rawOutput writes a tensor [T,H,W,C], frame by frame.
func (j *work) rawOutput(f media.Format) (*output, error) {
	g, err := j.grow()
	if err != nil {
		return nil, err
	}
	o := &output{floats: j.ask.output == "f32", close: g.Close, abort: func() { g.Close() }}
	d := code
	if o.floats {
		d = float
	}
	_ = j.set(false, func(s *state) { s.Shape, s.Dtype = []int{f.Frames, f.Height, f.Width, f.Channels}, d })
	raw := make([]byte, f.Height*f.Width*f.Channels*d.bytes())
	o.frame = func(floats []float32, rgba []byte) error {
		if o.floats {
			float.put(raw, floats)
		} else {
			for i := range f.Height * f.Width {
				copy(raw[i*f.Channels:][:f.Channels], rgba[4*i:])
			}
		}
		_, err := g.Write(raw)
		return err
	}
	return o, nil
}

// videoOutput writes one of package media's formats.
func (j *work) videoOutput(f media.Format) (*output, error) {
	options, closed := media.CreateOptions{PixelFormat: j.ask.pixels, Warn: j.warn}, func() error { return nil }
	if j.ask.output == "y4m" {
		g, err := j.grow()
		if err != nil {
			return nil, err
		}
		options.To, closed = g, g.Close
	}
	sink, err := media.CreateWith(j.ctx, j.output(), f, options)
	if err != nil {
		_ = closed() // err is the error to report
		return nil, err
	}
	o := &output{floats: sink.NeedsFloat()}
	o.frame = func(floats []float32, rgba []byte) error {
		if o.floats {
			return sink.WriteFrame(floats)
		}
		return sink.WriteRGBA8(rgba)
	}
	o.close = func() error {
		if err := sink.Close(); err != nil {
			return err
		}
		return closed()
	}
	o.abort = func() {
		_ = sink.Abort()
		_ = closed()
	}
	return o, nil
}

// growing is a file that clients read while it is written.
type growing struct {
	*os.File
	j *work
}

func (j *work) grow() (*growing, error) {
	f, err := os.OpenFile(j.output(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	return &growing{f, j}, err
}

func (g *growing) Write(b []byte) (int, error) {
	n, err := g.File.Write(b)
	_ = g.j.set(false, func(s *state) { s.Bytes += int64(n) })
	return n, err
}
