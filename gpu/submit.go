package gpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"tessera/gpu/internal/driver"
)

// A submission is kept near pieceTarget on every adapter: long enough to hide
// its overhead, short enough that no watchdog fires and a cancel is quick.
const (
	pieceTarget = 60 * time.Millisecond
	inFlight    = 2 // submissions queued before waiting for the oldest

	// firstRate is the guess for a pipeline that has not run: the slowest
	// adapter seen (SwiftShader, 1 GFLOP/s), so that the first piece is short.
	firstRate = 1e-9
	maxSlower = 4.0       // a measurement moves a rate up by at most this,
	maxFaster = 1.0 / 8.0 // or down: the first run of a pipeline also compiles
)

// piece is one submission on its way.
type piece struct {
	fence  driver.Fence
	sent   time.Time
	parts  []part
	expect float64 // seconds
}

// part is one pipeline's share of a piece.
type part struct {
	pipeline *pipeline
	seconds  float64 // predicted
}

// pacer remembers when the device last became idle, as far as is known.
type pacer struct{ lastDone time.Time }

// Submit runs a batch in order, in as many submissions as its measured speed
// asks for, and returns when the last ones are on their way. When ctx ends it
// stops submitting, drains what runs and returns the context's error.
func (d *Device) Submit(ctx context.Context, b *Batch) error {
	if d.lost != nil {
		return d.lost
	}
	s := submission{d: d, ctx: ctx, label: b.Label}
	for i := range b.Commands {
		c := &b.Commands[i]
		var err error
		if c.Program == nil {
			s.copy(c)
		} else {
			err = s.dispatch(c)
		}
		if err != nil {
			d.params = d.params[:0]
			return err
		}
	}
	return s.flush()
}

// submission gathers commands until they are worth a piece.
type submission struct {
	d        *Device
	ctx      context.Context
	label    string
	commands []driver.Command
	parts    []part
	expect   float64
}

// copy adds a copy or a clear.
func (s *submission) copy(c *Command) {
	move := driver.Command{
		Dst: driver.Binding{Buffer: s.d.memory(c.Dst.Buffer).handle, Offset: c.Dst.Offset, Size: c.Dst.Bytes()},
	}
	if c.Src.Buffer != nil {
		move.Src = driver.Binding{Buffer: s.d.memory(c.Src.Buffer).handle, Offset: c.Src.Offset, Size: c.Dst.Bytes()}
	}
	s.commands = append(s.commands, move)
}

// dispatch adds a dispatch, cut into boxes of workgroups where it is longer
// than what is left of the piece or wider than the device's grid.
func (s *submission) dispatch(c *Command) error {
	d := s.d
	l, err := d.pipeline(c.Program, int64(len(c.Params)))
	if err != nil {
		return err
	}
	group, err := d.bindGroup(c, l)
	if err != nil {
		return err
	}
	total := int64(c.Groups[0]) * int64(c.Groups[1]) * int64(c.Groups[2])
	if total == 0 {
		return nil
	}
	work := float64(max(c.Cost.FLOPs+c.Cost.Bytes, total))
	for at := [3]uint32{}; at[2] < c.Groups[2]; {
		one := work / float64(total) * l.rate // seconds a workgroup
		room := (pieceTarget.Seconds() - s.expect) / one
		if s.expect > 0 && (room < 1 || len(s.commands) >= uniformSlots || len(d.params) >= uniformSlot*uniformSlots) {
			if err := s.flush(); err != nil {
				return err
			}
			continue
		}
		size := box(c.Groups, at, int64(room), d.limits.MaxGroups)
		s.commands = append(s.commands, driver.Command{
			Pipeline: l.handle, Group: group, Groups: size,
			UniformOffset: d.slot(c.Params, at, c.Groups[0]),
		})
		seconds := one * float64(size[0]) * float64(size[1]) * float64(size[2])
		s.parts = append(s.parts, part{l, seconds})
		s.expect += seconds
		at = after(c.Groups, at, size)
	}
	return nil
}

// slot appends params to those of the piece with First filled in, and returns
// their offset.
func (d *Device) slot(params []byte, at [3]uint32, width uint32) uint32 {
	if len(params) > uniformSlot {
		panic(fmt.Sprintf("gpu: params of %d bytes", len(params)))
	}
	offset := len(d.params)
	d.params = d.params[:offset+uniformSlot]
	slot := d.params[offset:]
	n := copy(slot, params)
	clear(slot[n:])
	for i, v := range [4]uint32{at[0], at[1], at[2], width} {
		binary.LittleEndian.PutUint32(slot[4*i:], v)
	}
	return uint32(offset)
}

// box is the largest box of workgroups that starts at `at`, holds about room
// of them (at least one), and keeps the order x, then y, then z.
func box(groups, at [3]uint32, room int64, limit uint32) [3]uint32 {
	size := [3]uint32{1, 1, 1}
	for i := range size {
		left := int64(groups[i] - at[i])
		n := min(max(room, 1), left, int64(limit))
		size[i] = uint32(n)
		if at[i] != 0 || n < int64(groups[i]) {
			break
		}
		room /= n
	}
	return size
}

// after is where the next box starts.
func after(groups, at, size [3]uint32) [3]uint32 {
	for i := range at {
		if at[i]+size[i] < groups[i] {
			at[i] += size[i]
			return at
		}
		if i < 2 {
			at[i] = 0
		}
	}
	at[2] = groups[2]
	return at
}

// flush submits what is gathered.
func (s *submission) flush() error {
	if len(s.commands) == 0 {
		return nil
	}
	d := s.d
	for len(d.flight) >= inFlight {
		if err := d.waitOldest(s.ctx); err != nil {
			return err
		}
	}
	if err := s.ctx.Err(); err != nil {
		_ = d.Wait(context.Background())
		return fmt.Errorf("gpu: %s: %w", s.label, err)
	}
	if len(d.params) > 0 {
		if err := d.drv.Write(d.uniform, 0, d.params); err != nil {
			return d.note(err)
		}
		d.params = d.params[:0]
	}
	sent := time.Now()
	fence, err := d.drv.Submit(s.label, s.commands)
	if err != nil {
		return d.note(fmt.Errorf("gpu: %s: %w", s.label, err))
	}
	d.stats.Submissions++
	d.stats.Dispatches += len(s.parts)
	d.flight = append(d.flight, piece{fence, sent, s.parts, s.expect})
	s.commands, s.parts, s.expect = s.commands[:0], nil, 0
	return nil
}

// Wait blocks until all submitted work is done.
func (d *Device) Wait(ctx context.Context) error {
	if d.lost != nil {
		return d.lost
	}
	for len(d.flight) > 0 {
		if err := d.waitOldest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waitOldest waits for the oldest piece and learns from the time it took.
func (d *Device) waitOldest(ctx context.Context) error {
	p := d.flight[0]
	if err := d.drv.Wait(ctx, p.fence); err != nil {
		if ctx.Err() != nil {
			_ = d.drv.Wait(context.Background(), d.flight[len(d.flight)-1].fence)
			d.flight = d.flight[:0]
		}
		return d.note(err)
	}
	d.flight = append(d.flight[:0], d.flight[1:]...)
	now := time.Now()
	began := p.sent
	if d.pace.lastDone.After(began) {
		began = d.pace.lastDone
	}
	d.pace.lastDone = now
	took := now.Sub(began)
	d.stats.Longest = max(d.stats.Longest, took)
	d.account(p, took.Seconds())
	p.learn(took.Seconds())
	return nil
}

// account adds a piece's time to that of its programs.
func (d *Device) account(p piece, took float64) {
	for _, part := range p.parts {
		u := d.stats.Programs[part.pipeline.label]
		u.Seconds += took * part.seconds / p.expect
		u.Dispatches++
		d.stats.Programs[part.pipeline.label] = u
	}
}

// learn moves the rates of the pipelines in a piece towards what was measured,
// each in proportion to its share.
func (p *piece) learn(took float64) {
	if p.expect <= 0 {
		return
	}
	ratio := min(max(took/p.expect, maxFaster), maxSlower)
	for _, part := range p.parts {
		part.pipeline.rate *= 1 + (ratio-1)*part.seconds/p.expect
	}
}
