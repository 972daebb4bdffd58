package gpu

import (
	"context"
	"math"
	"time"
)

// Profile is the work of a device from Device.Profile until End. Times count from its
// start.
type Profile struct {
	Wall    time.Duration // until End, by this machine's clock
	Queried bool          // the device timed the commands
	Pieces  []Piece       // in order

	device *Device
	began  time.Time
	timer  *timer
	zero   time.Duration // start of the profile on the device's clock
}

// Piece is one submission. Begin and End are by this machine's clock: when it was sent,
// and when it was known to be done.
type Piece struct {
	Label      string
	Begin, End time.Duration
	Commands   []Ran
}

// Ran is a command in a piece, or the part of one that was cut.
type Ran struct {
	Command *Command
	Cost    Cost // of this part
	// Begin and End are the device's times, converted to this machine's clock. Time
	// when two commands overlap counts for the first. Zero unless Profile.Queried.
	Begin, End time.Duration
}

// Time returns the command's duration.
func (r *Ran) Time() time.Duration { return r.End - r.Begin }

// Busy returns how long the device was at work: the sum of its commands' times, at most
// Wall. It is 0 unless Queried.
func (p *Profile) Busy() time.Duration {
	var sum time.Duration
	for i := range p.Pieces {
		for j := range p.Pieces[i].Commands {
			sum += p.Pieces[i].Commands[j].Time()
		}
	}
	return min(sum, p.Wall)
}

// Profile records what the device does, and when, until End is called: by timestamps if
// the adapter has them, else by submission. Meanwhile each dispatch has a separate
// pass, and the times of every submission are read back, which takes a little longer.
// Do not change submitted batches until End. Only one profile can be active.
func (d *Device) Profile(ctx context.Context) (*Profile, error) {
	if err := d.Wait(ctx); err != nil {
		return nil, err
	}
	t, err := d.newTimer()
	if err != nil {
		return nil, err
	}
	p := &Profile{device: d, began: time.Now(), timer: t, Queried: t != nil, zero: math.MaxInt64}
	if t == nil {
		p.timer = &timer{}
	}
	p.timer.take = p.take
	d.profiler = p.timer
	return p, nil
}

// take records a submission.
func (p *Profile) take(ctx context.Context, sent *timed) error {
	piece := Piece{Label: sent.batch.Label, Begin: sent.at.Sub(p.began), End: sent.done.Sub(p.began)}
	for i, index := range sent.of {
		c := &sent.batch.Commands[index]
		part := func(n int64) int64 { return int64(float64(n) * sent.shares[i]) }
		piece.Commands = append(piece.Commands, Ran{Command: c, Cost: Cost{FLOPs: part(c.Cost.FLOPs), Bytes: part(c.Cost.Bytes)}})
	}
	if p.Queried {
		if err := p.read(ctx, sent, &piece); err != nil {
			return err
		}
	}
	p.Pieces = append(p.Pieces, piece)
	return nil
}

// read reads when a piece's commands ran, by the device's clock; End converts the
// times. p.zero becomes the latest start of the profile at which no command begins
// before it was sent.
func (p *Profile) read(ctx context.Context, sent *timed, piece *Piece) error {
	spans, err := sent.spans(ctx, p.device)
	if err != nil {
		return err
	}
	for i, s := range spans {
		s, ok := p.timer.read(s)
		if !ok {
			return nil
		}
		begin, end := time.Duration(s.Begin), time.Duration(s.End)
		p.zero = min(p.zero, begin-piece.Begin)
		piece.Commands[i].Begin, piece.Commands[i].End = begin, end
	}
	return nil
}

// End waits for pending work and ends the profile. A second call does nothing.
func (p *Profile) End(ctx context.Context) error {
	d := p.device
	if d.profiler != p.timer {
		return nil
	}
	err := d.Wait(ctx)
	p.Wall = time.Since(p.began)
	d.profiler = nil
	if p.Queried {
		p.timer.release()
	}
	p.Queried = p.Queried && p.timer.believed(p.Wall)
	for i := range p.Pieces {
		for j := range p.Pieces[i].Commands {
			r := &p.Pieces[i].Commands[j]
			if r.Begin, r.End = r.Begin-p.zero, r.End-p.zero; !p.Queried {
				r.Begin, r.End = 0, 0
			}
		}
	}
	return err
}
