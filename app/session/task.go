package session

import (
	"bytes"
	"sort"
	"strings"
	"time"

	"tessera/app/job"
	"tessera/format/quote"
	"tessera/gpu"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

type operation struct {
	Name       string  `json:"name"`
	Seconds    float64 `json:"seconds"`
	Estimated  bool    `json:"estimated"` // Seconds are gpu.Use.Estimate
	Dispatches int     `json:"dispatches"`
}

type done struct {
	Seconds     float64     `json:"seconds"`
	Frames      int         `json:"frames"`
	Operations  []operation `json:"operations"`
	Bytes       int64       `json:"bytes"`
	PeakBytes   int64       `json:"peakBytes"`
	HostBytes   int64       `json:"hostBytes"`
	Submissions int         `json:"submissions"`
	Longest     float64     `json:"longest"`
	FLOPs       float64     `json:"flops"`
}

// A job must run this long before it says how fast a device is.
const telling = 100 * time.Millisecond

// task is a decode, encode or round trip during its turn.
type task struct {
	s     *Session
	r     *request
	model *vae.Model
	begun time.Time
}

// run resolves a request, waits for the device and executes it.
func (s *Session) run(r *request) (*done, error) {
	c := s.checkpoint
	if c == nil {
		return nil, errNoModel
	}
	t := &task{s: s, r: r}
	resolve := t.encode
	switch r.Type {
	case "decode":
		resolve = t.decode
	case "roundtrip":
		resolve = t.roundtrip
	}
	m, want, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	config := m.Config
	if err := s.identify(r, c, &config); err != nil {
		return nil, err
	}
	work, err := resolve(config, want)
	if err != nil {
		return nil, err
	}
	dev, err := s.turn(r)
	if err != nil {
		return nil, err
	}
	var d *done
	err = s.during(r, func() error {
		c.readFor(r)
		d, err = t.on(dev, c, work)
		return err
	})
	return d, err
}

// during does the work of a turn that has begun, and ends the turn.
func (s *Session) during(r *request, work func() error) (err error) {
	s.hold(r, true)
	defer func() {
		s.hold(r, false)
		s.host.Done(err)
	}()
	defer caught(&err)
	return work()
}

// turn waits for the device, and reports to the page how many turns come first.
func (s *Session) turn(r *request) (*gpu.Device, error) {
	positions, end := make(chan int, 1), make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		for {
			select {
			case n := <-positions:
				_ = s.send(queuedEvent{about("queued", r.ID), n}, nil) // a page that has gone is noticed elsewhere
			case <-end:
				return
			}
		}
	}()
	dev, err := s.host.Turn(r.ctx, func(n int) {
		select {
		case <-positions: // outdated
		default:
		}
		select {
		case positions <- n:
		default:
		}
	})
	close(end)
	<-told
	return dev, err
}

// on does the work on the device during its turn.
func (t *task) on(dev *gpu.Device, c *checkpoint, work func() (frames int, err error)) (*done, error) {
	var err error
	if t.model, err = c.on(dev); err != nil {
		return nil, err
	}
	t.begun = time.Now()
	dev.ResetPeaks()
	before := dev.Stats()
	frames, err := work()
	if t.s.host.Crowded() {
		c.unload()
	}
	after := dev.Stats()
	t.s.mu.Lock()
	t.s.stats = after
	t.s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	var rate float64
	if warm := after.Warm - before.Warm; warm >= telling {
		rate = (after.WarmFLOPs - before.WarmFLOPs) / warm.Seconds()
	}
	return &done{
		Seconds: time.Since(t.begun).Seconds(), Frames: frames, Operations: operations(before.Programs, after.Programs),
		Bytes: after.Bytes, PeakBytes: after.PeakBytes, HostBytes: t.s.hostBytes(),
		Submissions: after.Submissions - before.Submissions, Longest: after.Longest.Seconds(), FLOPs: rate,
	}, nil
}

// operations returns what was used between two times, by operation, the longest first. A
// program's label is its operation and storage: conv3d_f32.
func operations(before, after map[string]gpu.Use) []operation {
	kinds := map[string]operation{}
	for label, u := range after {
		name := label
		if i := strings.LastIndexByte(label, '_'); i > 0 {
			name = label[:i]
		}
		k := kinds[name]
		k.Name, k.Estimated = name, true
		k.Seconds += (u.Estimate - before[label].Estimate).Seconds()
		k.Dispatches += u.Dispatches - before[label].Dispatches
		if k.Dispatches > 0 {
			kinds[name] = k
		}
	}
	list := []operation{}
	for _, k := range kinds {
		list = append(list, k)
	}
	sort.Stable((*longest)(&list))
	return list
}

// longest sorts operations. A generic sort of structs would add 17 kB to the page's
// engine.
type longest []operation

func (l *longest) Len() int      { return len(*l) }
func (l *longest) Swap(i, j int) { (*l)[i], (*l)[j] = (*l)[j], (*l)[i] }
func (l *longest) Less(i, j int) bool {
	if (*l)[i].Seconds != (*l)[j].Seconds {
		return (*l)[i].Seconds > (*l)[j].Seconds
	}
	return (*l)[i].Name < (*l)[j].Name
}

// decode reads the latent's header; the returned work reads the rest and sends the
// frames.
func (t *task) decode(c vae.Config, want job.Choices) (work func() (frames int, err error), err error) {
	z, name, err := t.s.header(t.r, c)
	if err != nil {
		return nil, err
	}
	want.Sample = false // the page decodes the mean of moments
	if _, err := job.Decode(c, z, name, want); err != nil {
		return nil, err
	}
	return func() (int, error) {
		z, err := t.s.latent(t.r, c)
		if err != nil {
			return 0, err
		}
		d, err := job.Decode(c, z, name, want)
		if err != nil {
			return 0, err
		}
		d.Options.RGBA8 = true
		if err := t.warn(d.Doubts()); err != nil {
			return 0, err
		}
		return d.Clip.Frames, t.frames(d, func(f vae.Frame) error { return t.frame(f, f.RGBA) })
	}, nil
}

// warn sends warnings, without the command line's flags: the page has settings instead.
func (t *task) warn(texts []string) error {
	for _, w := range texts {
		w = strings.TrimSuffix(w, t.model.Config.Hint())
		w = strings.Replace(w, "--layout decides", "choose under “Latent dimensions”", 1)
		if err := t.s.send(warningEvent{about("warning", t.r.ID), quote.Message(job.Plain(w))}, nil); err != nil {
			return err
		}
	}
	return nil
}

// frames runs the decoder and passes its frames to take.
func (t *task) frames(d job.Decoding, take func(vae.Frame) error) error {
	d.Options.Internals.Spool, d.Options.Preview = t.s.o.Spool, t.r.Options.preview()
	return d.Run(t.r.ctx, t.model, t.watch("decode"), func(p *vae.DecodePlan) error {
		if err := t.planned("decode", d.Whole, d.Options.Independent, p.Plan, d.Clip); err != nil {
			return err
		}
		return t.sketch(d)
	}, func(_ int, f vae.Frame) error { return take(f) })
}

// encoding resolves the encoding of the page's clip.
func (t *task) encoding(c vae.Config, want job.Choices) (e job.Encoding, name string, err error) {
	info := t.r.Clip
	if err := checkSize("clip", info.Frames, info.Height, info.Width); err != nil {
		return e, "", err
	}
	if name, err = t.r.Options.latentName(); err != nil {
		return e, "", err
	}
	f := info.format()
	f.Channels = c.Channels
	if n := t.s.o.MaxAnswer; n > 0 && 4*f.Height*f.Width > n {
		return e, "", job.BadInput("session: frames of %dx%d pixels are %d bytes, expected at most %d", f.Width, f.Height, 4*f.Height*f.Width, n)
	}
	if e, err = job.Encode(c, f, name, want); err != nil {
		return e, "", err
	}
	return e, name, checkBytes(e.Latent)
}

// encode sends a latent of the page's clip.
func (t *task) encode(c vae.Config, want job.Choices) (work func() (frames int, err error), err error) {
	e, name, err := t.encoding(c, want)
	if err != nil {
		return nil, err
	}
	return func() (int, error) {
		_, err := t.latent(t.clip(e), e, name)
		return e.Clip.Frames, err
	}, nil
}

// clip returns the page's clip.
func (t *task) clip(e job.Encoding) *pageClip {
	return &pageClip{s: t.s, r: t.r, channels: e.Clip.Channels, last: -1}
}

// latent runs the encoder and sends the latent.
func (t *task) latent(c *pageClip, e job.Encoding, name string) (latent.Latent, error) {
	e.Options.Internals.Spool = t.s.o.Spool
	z, err := e.Run(t.r.ctx, t.model, c, t.watch("encode"), func(p *vae.EncodePlan) error {
		if err := t.warn(e.Doubts()); err != nil {
			return err
		}
		return t.planned("encode", e.Latent.Frames, e.Options.Independent, p.Plan, e.Clip)
	})
	if err != nil {
		return z, err
	}
	var text bytes.Buffer
	text.Grow(4*len(z.Data) + 4096)
	written := e.Written(z)
	if err := media.EncodeLatent(&text, name, written); err != nil {
		return z, err
	}
	return z, t.s.send(latentEvent{about("latent", t.r.ID), name, written.Shape()}, text.Bytes())
}

// roundtrip decodes what it has encoded and compares as the command line does: before
// rounding to 8 bits.
func (t *task) roundtrip(c vae.Config, want job.Choices) (work func() (frames int, err error), err error) {
	if err := job.Comparable(c); err != nil {
		return nil, err
	}
	e, name, err := t.encoding(c, want)
	if err != nil {
		return nil, err
	}
	return func() (int, error) {
		clip := t.clip(e)
		z, err := t.latent(clip, e, name)
		if err != nil {
			return 0, err
		}
		return e.Clip.Frames, t.compare(clip, e.Back(z))
	}, nil
}

// compare decodes, and sends how close each frame is to the clip's.
func (t *task) compare(c *pageClip, d job.Decoding) error {
	both := job.NewComparison(c)
	err := t.frames(d, func(f vae.Frame) error {
		if err := t.frame(f, both.RGBA(f)); err != nil {
			return err
		}
		score, err := both.Add(f)
		if err != nil {
			return err
		}
		return t.quality(&f.Index, score)
	})
	if err != nil {
		return err
	}
	return t.quality(nil, both.Overall())
}

func (t *task) quality(index *int, s job.Score) error {
	return t.s.send(qualityEvent{about("quality", t.r.ID), index, s.PSNR, s.SSIM}, nil)
}

// planned sends the plan of a stage, which produces the given frames of a clip.
func (t *task) planned(stage string, frames int, independent bool, p *vae.Plan, to media.Format) error {
	return t.s.send(planEvent{about("plan", t.r.ID), stage, newPlan(stage, frames, independent, p), clipOf(to)}, nil)
}

// watch sends the progress of a stage to the page.
func (t *task) watch(stage string) vae.Watch {
	return vae.Watch{
		Preview: t.preview,
		Progress: func(p vae.Progress) {
			_ = t.s.send(progressEvent{about("progress", t.r.ID), stage, p, time.Since(t.begun).Seconds()}, nil)
		},
		Compiling: func(done, all int) {
			_ = t.s.send(compilingEvent{about("compiling", t.r.ID), done, all}, nil)
		},
		Loading: func(loaded, total int64) {
			_ = t.s.send(loadingEvent{about("loading", t.r.ID), loaded, total}, nil)
			if loaded == total {
				t.s.checkpoint.release()
			}
		},
	}
}

func (t *task) frame(f vae.Frame, rgba []byte) error {
	return t.picture(rgba, func(seq int) any {
		return frameEvent{about("frame", t.r.ID), seq, f.Index, f.Height, f.Width}
	})
}

// sketch sends the preview if the job has a checkpoint for it. It opens the checkpoint
// for each job: the checkpoint is small, and closing it leaves the device to the job.
func (t *task) sketch(d job.Decoding) error {
	if src := t.r.Preview; t.r.Type != "decode" || src.ID == 0 && src.Path == "" {
		return nil
	}
	file, size, name, closed, err := t.s.file(t.r, t.r.Preview)
	if err != nil {
		return err
	}
	defer closed()
	c := t.s.checkpoint
	tiny, err := vae.OpenReader(c.dev, file, size, name, vae.Settings{Precision: c.settings.Precision})
	if err != nil {
		return err
	}
	defer tiny.Close()
	tiny.Config.Name(name)
	of := t.model.Config
	of.Name(c.name)
	if d, err = d.Preview(of, tiny); err != nil {
		return err
	}
	none := func(*vae.DecodePlan) error { return nil }
	return d.Run(t.r.ctx, tiny, vae.Watch{}, none, func(_ int, f vae.Frame) error {
		return t.picture(f.RGBA, func(seq int) any {
			return frameEvent{about("preview", t.r.ID), seq, f.Index, f.Height, f.Width}
		})
	})
}

func (t *task) preview(p vae.Preview) error {
	return t.picture(p.RGBA, func(seq int) any {
		return tileEvent{about("tile", t.r.ID), seq, p.Tile, p.Frame, p.Y, p.X, p.Height, p.Width}
	})
}

// picture sends pixels once fewer than InFlight pictures are unacknowledged.
func (t *task) picture(rgba []byte, event func(seq int) any) error {
	defer t.s.await(t.r)()
	select {
	case t.r.credit <- struct{}{}:
	case <-t.r.ctx.Done():
		return t.r.ctx.Err()
	}
	t.r.seq++
	return t.s.send(event(t.r.seq), rgba)
}
