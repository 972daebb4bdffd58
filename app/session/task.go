package session

import (
	"cmp"
	"sort"
	"strings"
	"time"

	"tessera/gpu"
	"tessera/latent"
	"tessera/media"
	"tessera/tiling"
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
}

// job is a decode, encode or round trip during its turn.
type job struct {
	s     *Session
	r     *request
	o     vae.Options
	model *vae.Model
	begun time.Time
}

// run reads what a job needs, waits for the device and does it.
func (s *Session) run(r *request) (*done, error) {
	c := s.checkpoint
	if c == nil {
		return nil, errNoModel
	}
	o, err := r.Options.vae()
	if err != nil {
		return nil, err
	}
	j := &job{s: s, r: r, o: o}
	work := j.encode
	switch r.Type {
	case "decode":
		var l latent.Latent
		if l, err = s.latent(r); err != nil {
			return nil, err
		}
		work = func() (int, error) { return j.decode(l) }
	case "roundtrip":
		work = j.roundtrip
	}
	if r.Type != "decode" {
		if err := checkSize("clip", r.Clip.Frames, r.Clip.Height, r.Clip.Width); err != nil {
			return nil, err
		}
		if _, err := j.latentName(); err != nil {
			return nil, err
		}
	}
	dev, err := s.turn(r)
	if err != nil {
		return nil, err
	}
	d, err := j.on(dev, c, work)
	s.host.Done(err)
	return d, err
}

// turn waits for the device, and tells the page how many go first.
func (s *Session) turn(r *request) (*gpu.Device, error) {
	positions, end := make(chan int, 1), make(chan struct{})
	told := make(chan struct{})
	go func() {
		defer close(told)
		for {
			select {
			case n := <-positions:
				_ = s.send(queuedEvent{"queued", r.ID, n}, nil) // a page that is gone is found out otherwise
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

// on does the job during its turn.
func (j *job) on(dev *gpu.Device, c *checkpoint, work func() (frames int, err error)) (*done, error) {
	var err error
	if j.model, err = c.on(dev); err != nil {
		return nil, err
	}
	j.begun = time.Now()
	dev.ResetPeaks()
	before := dev.Stats()
	j.o.Spool = j.s.o.Spool
	j.o.Loading = func(loaded, total int64) {
		_ = j.s.send(loadingEvent{"loading", j.r.ID, loaded, total}, nil)
		if loaded == total {
			c.release()
		}
	}
	frames, err := work()
	if j.s.host.Crowded() {
		c.unload()
	}
	after := dev.Stats()
	j.s.mu.Lock()
	j.s.stats = after
	j.s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return &done{
		Seconds: time.Since(j.begun).Seconds(), Frames: frames, Operations: operations(before.Programs, after.Programs),
		Bytes: after.Bytes, PeakBytes: after.PeakBytes, HostBytes: j.s.hostBytes(),
		Submissions: after.Submissions - before.Submissions, Longest: after.Longest.Seconds(),
	}, nil
}

// operations are what was used between two times, by kind, the longest first: a
// program's label is its operation and what it stores, conv3d_f32.
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
	sort.Stable(longest(list))
	return list
}

// longest sorts operations. A generic sort of structs would be 17 kB of the
// page's engine.
type longest []operation

func (l longest) Len() int      { return len(l) }
func (l longest) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l longest) Less(i, j int) bool {
	if l[i].Seconds != l[j].Seconds {
		return l[i].Seconds > l[j].Seconds
	}
	return l[i].Name < l[j].Name
}

func (j *job) decode(l latent.Latent) (frames int, err error) {
	c := j.model.Config
	was, warnings, err := origin(l, cmp.Or(j.r.Source.Name, j.r.Source.Path), c, j.r.Options)
	if err != nil {
		return 0, err
	}
	for _, w := range warnings {
		if err := j.s.send(warningEvent{"warning", j.r.ID, w}, nil); err != nil {
			return 0, err
		}
	}
	to := output(l, was, c)
	o := vae.DecodeOptions{Options: j.o, RGBA8: true, Frames: to.Frames, Height: to.Height, Width: to.Width}
	o.Unscaled, o.Independent = was.Scale == latent.ScaleNone, was.Images
	return to.Frames, j.frames(l, o, to, func(f vae.Frame) error { return j.frame(f, f.RGBA) })
}

// frames runs the decoder and hands its frames to take.
func (j *job) frames(z latent.Latent, o vae.DecodeOptions, to clip, take func(vae.Frame) error) error {
	l, err := j.model.PlanDecode(z.Frames, z.Height, z.Width, o.Options)
	if err := j.settle("decode", pixelFrames(z.Frames, j.model.Config, o.Independent), l, err, &o.Options, to); err != nil {
		return err
	}
	if p := j.r.Options.Preview; p == nil || *p {
		o.Preview = j.preview
	}
	for f, err := range j.model.Decode(j.r.ctx, z, o) {
		if err != nil {
			return err
		}
		if err := take(f); err != nil {
			return err
		}
	}
	return nil
}

func (j *job) encode() (frames int, err error) {
	_, _, err = j.latentOf(j.clip())
	return j.r.Clip.Frames, err
}

// clip is the page's.
func (j *job) clip() *pageClip {
	return &pageClip{s: j.s, r: j.r, channels: j.model.Config.Channels, last: -1}
}

// roundtrip decodes what it has encoded, and compares as the command line does:
// before rounding to 8 bits.
func (j *job) roundtrip() (frames int, err error) {
	c, info := j.clip(), j.r.Clip
	z, again, err := j.latentOf(c)
	if err != nil {
		return 0, err
	}
	q := media.NewQuality(info.Height, info.Width, c.channels)
	pixels := info.Height * info.Width
	original, rgba := make([]float32, pixels*c.channels), make([]byte, pixels*4)
	o := vae.DecodeOptions{Options: again, Frames: info.Frames, Height: info.Height, Width: info.Width}
	err = j.frames(z, o, info, func(f vae.Frame) error {
		media.ToRGBA(rgba, f.Pixels, c.channels)
		if err := j.frame(f, rgba); err != nil {
			return err
		}
		if err := c.ReadFrame(f.Index, original); err != nil {
			return err
		}
		return j.quality(&f.Index, q.Add(original, f.Pixels))
	})
	if err != nil {
		return 0, err
	}
	return info.Frames, j.quality(nil, q.Overall())
}

func (j *job) quality(index *int, f media.FrameQuality) error {
	e := qualityEvent{Type: "quality", ID: j.r.ID, Index: index, SSIM: f.SSIM}
	if f.MSE > 0 {
		e.PSNR = &f.PSNR
	}
	return j.s.send(e, nil)
}

// settle tells the layout, of whose making err came, and fixes it in the
// options.
func (j *job) settle(stage string, frames int, l *vae.Layout, err error, o *vae.Options, to clip) error {
	if err != nil {
		return err
	}
	o.Tile, o.Shrink, o.Tiling = tiling.Choice{Tile: l.Tile}, false, l.Tiling
	o.Progress = func(p vae.Progress) {
		_ = j.s.send(progressEvent{
			"progress", j.r.ID, stage, p.Tile, p.Tiles, p.Middle, p.Slice, p.Slices, p.Frame, p.Frames, p.Done, time.Since(j.begun).Seconds(),
		}, nil)
	}
	return j.s.send(layoutEvent{"layout", j.r.ID, stage, newLayout(stage, frames, o.Independent, l), to}, nil)
}

func (j *job) frame(f vae.Frame, rgba []byte) error {
	return j.picture(rgba, func(seq int) any {
		return frameEvent{"frame", j.r.ID, seq, f.Index, f.Height, f.Width}
	})
}

func (j *job) preview(p vae.Preview) error {
	return j.picture(p.RGBA, func(seq int) any {
		return tileEvent{"tile", j.r.ID, seq, p.Tile, p.Frame, p.Y, p.X, p.Height, p.Width}
	})
}

// picture sends pixels once the page has taken those of InFlight before.
func (j *job) picture(rgba []byte, event func(seq int) any) error {
	select {
	case j.r.credit <- struct{}{}:
	case <-j.r.ctx.Done():
		return j.r.ctx.Err()
	}
	j.r.seq++
	return j.s.send(event(j.r.seq), rgba)
}
