package terminal

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/cwriter"
	"github.com/vbauerster/mpb/v8/decor"

	"tessera/gpu"
	"tessera/vae"
)

// Progress shows the progress of one stage: a bar on a terminal, otherwise a line now and
// then, or events.
type Progress struct {
	t      *Terminal
	name   string
	how    string // bar, plain, json or none
	frames int    // of the clip, including padding
	start  time.Time

	mu     sync.Mutex // the bar draws from another goroutine
	last   vae.Progress
	lastAt time.Time
	begun  float64 // share that was done earlier

	expected time.Duration // for the work, by its plan; 0: unknown
	worked   time.Time     // when the work began, after loading weights and compiling shaders

	compiled, shaders int                        // shaders that are compiled before the first tile
	kept              func() (found, missed int) // shader cache counts, as gpu.Device reports them; nil: unknown
	found, missed     int                        // counts before the first shader

	pool   *mpb.Progress // nil without a terminal
	bar    *mpb.Bar
	told   float64 // share at the last line
	toldAt time.Time
}

const barUnits = 1000

// Stage starts a stage over a clip of the given frames.
func (t *Terminal) Stage(name string, frames int) *Progress {
	now := time.Now()
	p := &Progress{t: t, name: name, frames: frames, start: now, worked: now, toldAt: now}
	p.how = t.Progress
	if p.how == "auto" || p.how == "" {
		p.how = "plain"
		if Is(t.Stderr) && os.Getenv("TERM") != "dumb" {
			p.how = "bar"
		}
	}
	switch {
	case t.Quiet:
		p.how = "none"
	case p.how == "bar":
		p.draw()
	case p.how == "json":
		p.event()
	}
	return p
}

// On sets the device that compiles the stage's shaders.
func (p *Progress) On(dev *gpu.Device) *Progress {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = dev.Kept
	return p
}

// From sets the share of the stage that was done earlier.
func (p *Progress) From(share float64) { p.begun = share }

// Expect sets how long the stage's plan should take. Progress shows this estimate until
// it has measured the speed; 0 is unknown.
func (p *Progress) Expect(d time.Duration) *Progress {
	p.expected = d
	return p
}

// Worked returns how long the work has taken, without loading and compiling.
func (p *Progress) Worked() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(0, p.lastAt.Sub(p.worked))
}

// The speed counts after this time and this share of the work: the first submissions are
// short, and drivers may compile shaders in them.
const (
	shortest = 2 * time.Second
	smallest = 0.03
)

// pace returns how long the work took until v, and whether that is enough to tell the
// speed. Callers hold mu.
func (p *Progress) pace(v vae.Progress) (took time.Duration, known bool) {
	took = p.lastAt.Sub(p.worked)
	return took, v.Done > p.begun && took > 0 && (v.Done == 1 || took >= shortest && v.Done-p.begun >= smallest*(1-p.begun))
}

// remaining estimates the rest of the work from its speed so far.
func (p *Progress) remaining(v vae.Progress, took time.Duration) time.Duration {
	return time.Duration(float64(took) * (1 - v.Done) / (v.Done - p.begun))
}

// rate returns how many frames the work makes per second.
func (p *Progress) rate(v vae.Progress, took time.Duration) float64 {
	return (v.Done - p.begun) * float64(p.frames) / took.Seconds()
}

// Planning reports that a stage is being planned if that takes long, until done is called
// for the first time.
func (t *Terminal) Planning(stage string) (done func()) {
	told := make(chan struct{})
	timer := time.AfterFunc(3*time.Second, func() {
		defer close(told)
		t.Note("%s planning", stage)
	})
	return sync.OnceFunc(func() {
		if !timer.Stop() {
			<-told
		}
	})
}

// Is reports whether w is a terminal.
func Is(w any) bool {
	f, ok := w.(*os.File)
	return ok && cwriter.IsTerminal(int(f.Fd()))
}

// draw starts a bar. A terminal that does not report its width, such as a serial line,
// gets a bar of the width that it needs; mpb would draw nothing.
func (p *Progress) draw() {
	output := mpb.WithOutput(p.t.Stderr)
	if f, ok := p.t.Stderr.(*os.File); ok {
		if width, _, err := cwriter.GetSize(int(f.Fd())); err != nil || width == 0 {
			output = mpb.WithOutput(struct{ io.Writer }{f})
		}
	}
	p.pool = mpb.New(output, mpb.WithAutoRefresh(), mpb.WithWidth(110), mpb.WithRefreshRate(150*time.Millisecond))
	p.bar = p.pool.New(barUnits, mpb.BarStyle().Lbound("[").Filler("=").Tip(">").Padding(" ").Rbound("]"),
		mpb.BarRemoveOnComplete(), mpb.BarWidth(40),
		mpb.PrependDecorators(decor.Name(p.t.Prefix+p.name+" ")),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return " " + p.status() })))
}

// event prints the stage's progress as an event.
func (p *Progress) event() {
	v, took := p.last, time.Since(p.start).Seconds()
	e := Event{Event: "progress", Stage: p.name, Done: &v.Done, Frames: p.frames, Frame: new(int), Seconds: &took}
	if p.compiled < p.shaders {
		e.Shader, e.Shaders = p.compiled+1, p.shaders
	}
	if v.Done > p.begun {
		*e.Frame, e.Middle = p.frame(v), v.Middle
		e.Tile, e.Tiles = min(v.Tile+1, v.Tiles), v.Tiles
	}
	if worked, known := p.pace(v); known {
		left := p.remaining(v, worked).Seconds()
		e.Left, e.Rate = &left, p.rate(v, worked)
	} else if p.expected > 0 {
		expected := p.expected.Seconds()
		e.Expected = &expected
	}
	p.t.Event(e)
}

// Update receives the progress after each slice.
func (p *Progress) Update(v vae.Progress) {
	p.mu.Lock()
	p.last, p.lastAt = v, time.Now()
	p.mu.Unlock()
	const often = 100 * time.Millisecond
	switch {
	case p.bar != nil:
		p.bar.SetCurrent(int64(v.Done * (barUnits - 1))) // Done sets the last unit
	case p.how == "plain":
		p.line(v)
	case p.how == "json" && (v.Done == 1 || time.Since(p.toldAt) >= often):
		p.toldAt = time.Now()
		p.event()
	}
}

// Loading receives the progress of uploading weights.
func (p *Progress) Loading(_, _ int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.worked = time.Now()
}

// Compiling receives the progress of compiling shaders.
func (p *Progress) Compiling(done, all int) {
	p.mu.Lock()
	p.compiled, p.shaders, p.worked = done, all, time.Now()
	if done == 0 && p.kept != nil {
		p.found, p.missed = p.kept()
	}
	p.mu.Unlock()
	since := time.Since(p.toldAt)
	switch {
	case p.how == "plain" && since >= 3*time.Second && done < all:
		p.toldAt = time.Now()
		p.t.Note("%s %s", p.name, p.status())
	case p.how == "json" && (done == 0 || since >= 100*time.Millisecond):
		p.toldAt = time.Now()
		p.event()
	}
}

// line prints at most one line every 10 %, and one every 30 seconds if that takes longer.
func (p *Progress) line(v vae.Progress) {
	const often, seldom = 3 * time.Second, 30 * time.Second
	since := time.Since(p.toldAt)
	if since < often || since < seldom && v.Done-p.told < 0.1 || v.Done == 1 {
		return
	}
	p.told, p.toldAt = v.Done, time.Now()
	p.t.Note("%s %s", p.name, p.status())
}

// status returns "43 %, tile 2/6, frame 5/17, 1.40 frames/s, 0:32 left", or before the
// speed is known "1 %, frame 0/17, about 0:42 expected". Exact tiles have "middle layers"
// before or after them, which see the whole frame.
func (p *Progress) status() string {
	p.mu.Lock()
	v, at := p.last, p.lastAt
	compiled, shaders, making := p.compiled, p.shaders, "compiling"
	if p.kept != nil {
		if found, missed := p.kept(); found > p.found && missed == p.missed {
			making = "loading"
		}
	}
	took, known := p.pace(v)
	p.mu.Unlock()
	then, expected := "", ""
	if p.expected > 0 {
		then, expected = ", then about "+clock(p.expected), fmt.Sprintf(", about %s expected", clock(p.expected))
	}
	switch {
	case v.Done == 0 && compiled < shaders:
		return fmt.Sprintf("%s shaders %d of %d", making, compiled+1, shaders) + then
	case v.Done <= p.begun:
		return "preparing" + then
	}
	s := fmt.Sprintf("%3.0f %%", 100*v.Done)
	switch {
	case v.Middle:
		s += ", middle layers"
	case v.Tiles > 1:
		s += fmt.Sprintf(", tile %d/%d", min(v.Tile+1, v.Tiles), v.Tiles)
	}
	if p.frames > 1 {
		s += fmt.Sprintf(", frame %d/%d", p.frame(v), p.frames)
	}
	if !known {
		return s + expected
	}
	if p.frames > 1 {
		s += fmt.Sprintf(", %s frames/s", Figures(p.rate(v, took)))
	}
	return s + fmt.Sprintf(", %s left", clock(max(0, p.remaining(v, took)-time.Since(at))))
}

// frame returns the pixel frame that the current tile has reached. A single tile's frame
// follows from its share of the work. Otherwise a slice counts frames of the network's
// input, of which the first stands for one pixel frame.
func (p *Progress) frame(v vae.Progress) int {
	switch {
	case v.Tiles < 2 && !v.Middle && v.Done > 0:
		return int(v.Done * float64(p.frames))
	case v.Slice == v.Slices && v.Tile < v.Tiles, v.Frame == 0:
		return 0 // the next tile starts
	case v.Frames < 2:
		return p.frames
	}
	return 1 + (v.Frame-1)*(p.frames-1)/(v.Frames-1)
}

// Done ends the stage and removes the bar.
func (p *Progress) Done() time.Duration {
	took := time.Since(p.start)
	if p.bar != nil {
		p.bar.Abort(true)
		p.pool.Wait()
		p.bar = nil
	}
	return took
}
