package gpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"tessera/gpu/internal/driver"
)

// sent is a submitted piece.
type sent struct {
	piece
	fence driver.Fence
	at    time.Time
	timed *timed // nil unless it is timed
}

// Submit runs a batch in order and returns when its last submission is queued; Wait or
// Read report its end. It cuts the batch into as many submissions as its measured speed
// requires. Buffers must have memory.
//
// A refused batch, with the errors of Prepare or with ErrTooLarge for a binding, may
// have run in part. If ctx ends, Submit stops submitting, waits for running submissions
// (about a tenth of a second), and returns the context's error.
func (d *Device) Submit(ctx context.Context, b *Batch) error {
	if d.lost != nil {
		return d.lost
	}
	if err := d.injectedFault(0); err != nil {
		return err
	}
	if err := d.Prepare(b); err != nil { // not while pieces are pending, whose time is measured
		return err
	}
	return d.submit(ctx, b, d.profiler)
}

// submit submits a prepared batch. t, if not nil, measures its times.
func (d *Device) submit(ctx context.Context, b *Batch, t *timer) (err error) {
	defer func() {
		if err != nil {
			d.params = d.params[:0]
		}
	}()
	s := submission{d: d, ctx: ctx, batch: b, timer: t}
	for i := range b.Commands {
		c := &b.Commands[i]
		s.index = i
		if c.Program == nil {
			err = s.move(c)
		} else {
			err = s.dispatch(c)
		}
		if err != nil {
			return err
		}
	}
	return s.flush()
}

// submission gathers commands until they fill a piece.
type submission struct {
	d        *Device
	ctx      context.Context
	batch    *Batch
	commands []driver.Command
	piece

	timer  *timer
	index  int       // of the command being added
	of     []int     // indices of the gathered commands; only with a timer
	shares []float64 // their shares of the whole commands
}

// add gathers one command.
func (s *submission) add(c driver.Command) {
	s.commands = append(s.commands, c)
	if s.timer != nil {
		s.of, s.shares = append(s.of, s.index), append(s.shares, share(c.Groups, s.batch.Commands[s.index].Groups))
	}
}

// share returns the part of a grid that a box covers; 1 for copies and clears.
func share(box, grid [3]uint32) float64 {
	all := 1.0
	for i, n := range grid {
		if n > 0 {
			all *= float64(box[i]) / float64(n)
		}
	}
	return all
}

// move adds a copy or a clear.
func (s *submission) move(c *Command) error {
	if len(s.commands) >= driver.MaxTimed {
		if err := s.flush(); err != nil {
			return err
		}
	}
	to := s.d.memory(c.Dst.Buffer)
	to.copied = s.d.sent() + 1
	move := driver.Command{
		Dst: driver.Binding{Buffer: to.handle, Offset: c.Dst.Offset, Size: c.Dst.Bytes()},
	}
	if c.Src.Buffer != nil {
		move.Src = driver.Binding{Buffer: s.d.memory(c.Src.Buffer).handle, Offset: c.Src.Offset, Size: c.Dst.Bytes()}
	}
	s.add(move)
	return nil
}

// dispatch adds a dispatch. It cuts the dispatch into boxes of workgroups if it is
// longer than the rest of the piece or wider than the device's grid.
func (s *submission) dispatch(c *Command) error {
	d := s.d
	l := d.programs[c.Program]
	if len(d.groups) >= maxBindGroups {
		if err := s.flush(); err != nil { // its commands use some of them
			return err
		}
		d.dropGroups()
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
	guess := d.pace.guess()
	if c.Cost == (Cost{}) {
		guess = firstRate // workgroups were counted; their length is unknown
	}
	speed := l.rate(shape{c.Groups, work}, guess)
	for at := [3]uint32{}; at[2] < c.Groups[2]; {
		one := work / float64(total) * speed.unit // seconds per workgroup
		weight := 1.0
		if !speed.known {
			weight = unsure
		}
		room := (pieceTarget.Seconds() - s.filled) / (one * weight)
		full := len(s.commands) >= driver.MaxTimed || len(d.params) >= uniformSlot*uniformSlots
		if full || s.expect > 0 && (room < 1 || s.first || !l.ran) {
			if err := s.flush(); err != nil {
				return err
			}
			continue
		}
		size := box(c.Groups, at, int64(room), d.limits.MaxGroups)
		s.add(driver.Command{
			Pipeline: l.handle, Group: group, Groups: size,
			UniformOffset: d.slot(c.Params, at, c.Groups[0]),
		})
		n := float64(size[0]) * float64(size[1]) * float64(size[2])
		s.parts = append(s.parts, part{l, speed, speed.unit, one * n})
		s.expect += one * n
		s.filled += one * n * weight
		s.flops += float64(c.Cost.FLOPs) * n / float64(total)
		s.first, l.ran = s.first || !l.ran, true
		at = after(c.Groups, at, size)
	}
	return nil
}

// slot appends params to those of the piece, with First filled in, and returns their
// offset.
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

// box returns the largest box of workgroups that starts at `at`, holds at most about
// room of them (at least one), and keeps the order x, then y, then z.
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

// after returns where the next box starts.
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

// flush submits the gathered commands.
func (s *submission) flush() error {
	if len(s.commands) == 0 {
		return nil
	}
	d := s.d
	for d.full(s.expect) {
		if err := d.whileWaiting(); err != nil {
			return err
		}
		if err := d.waitOldest(s.ctx); err != nil {
			return err
		}
	}
	if len(d.flight) == 0 {
		d.pace.idle()
	}
	if err := s.ctx.Err(); err != nil {
		_ = d.Wait(context.Background())
		return fmt.Errorf("gpu: %s: %w", s.batch.Label, err)
	}
	if len(d.params) > 0 {
		if err := d.drv.Write(d.uniform, 0, d.params); err != nil {
			return d.note(err)
		}
		d.params = d.params[:0]
	}
	var watch driver.Stopwatch
	var times *timed
	if s.timer != nil {
		watch = s.timer.next()
		times = &timed{timer: s.timer, watch: watch, batch: s.batch, of: s.of, shares: s.shares}
		s.of, s.shares = nil, nil
	}
	now := time.Now()
	fence, err := d.drv.Submit(s.batch.Label, s.commands, watch)
	if err != nil {
		return d.note(fmt.Errorf("gpu: %s: %w", s.batch.Label, err))
	}
	d.stats.Submissions++
	d.stats.Dispatches += len(s.parts)
	d.flight = append(d.flight, sent{s.piece, fence, now, times})
	s.commands, s.piece = s.commands[:0], piece{}
	return nil
}

// full reports whether a piece with this expected time in seconds has to wait for the
// oldest pending piece.
func (d *Device) full(expect float64) bool {
	if len(d.flight) < inFlight {
		return false
	}
	for i := range d.flight {
		expect += d.flight[i].expect
	}
	return len(d.flight) >= maxInFlight || expect > inFlight*pieceTarget.Seconds()
}

// whileWaiting calls the function set by WhileWaiting, if there is one.
func (d *Device) whileWaiting() error {
	f := d.spare
	if f == nil {
		return nil
	}
	d.spare = nil
	err := f()
	d.spare = f
	return err
}

// sent returns the number of submitted pieces.
func (d *Device) sent() uint64 { return d.ended + uint64(len(d.flight)) }

// Wait blocks until all submitted work is done, and returns its errors. If ctx ends,
// Wait waits for the submissions that run (about a tenth of a second) and returns the
// context's error.
func (d *Device) Wait(ctx context.Context) error { return d.waitFor(ctx, d.sent()) }

// waitFor waits for the pieces up to a number.
func (d *Device) waitFor(ctx context.Context, number uint64) error {
	if d.lost != nil {
		return d.lost
	}
	for d.ended < number && len(d.flight) > 0 {
		if err := d.waitOldest(ctx); err != nil {
			return err
		}
	}
	return nil
}

// waitOldest waits for the oldest piece and learns from its time.
func (d *Device) waitOldest(ctx context.Context) error {
	p, looked := d.flight[0], time.Now()
	if err := d.drv.Wait(ctx, p.fence); err != nil {
		if ctx.Err() != nil {
			_ = d.drv.Wait(context.Background(), d.flight[len(d.flight)-1].fence)
			d.ended, d.flight = d.sent(), d.flight[:0]
		}
		return d.note(err)
	}
	d.flight = append(d.flight[:0], d.flight[1:]...)
	d.ended++
	now := time.Now()
	began := p.at
	if d.pace.done.After(began) {
		began = d.pace.done
	}
	d.pace.done = now
	took := now.Sub(began)
	late := now.Sub(looked) < atOnce
	d.account(&p.piece, took, late)
	d.learn(&p.piece, took.Seconds(), late)
	if d.done != nil {
		d.done(p.flops)
	}
	if p.timed != nil {
		p.timed.at, p.timed.done = p.at, now
		return p.timed.timer.take(ctx, p.timed)
	}
	return nil
}
