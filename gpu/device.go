package gpu

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"time"

	"tessera/gpu/internal/driver"
)

// uniformSlot holds the Params of one dispatch; every UniformAlignment divides it.
const uniformSlot = 256

// uniformSlots bounds the dispatches of one submission. Writes to the uniform
// buffer are ordered with submissions, so every submission starts at slot 0.
const uniformSlots = 1024

// maxBindGroups bounds the bind groups that a device keeps. Some drivers map memory for
// each one, and Linux allows a process 65,530 mappings.
const maxBindGroups = 1 << 14

// maxPrograms bounds the programs that a device remembers with their pipelines. A job
// that builds its kernels again has new programs with the same texts, about 10 kB each.
const maxPrograms = 1 << 10

// Device runs batches. It owns everything that it created; Close releases it.
type Device struct {
	drv    driver.Device
	info   Info
	limits Limits

	uniform   driver.Buffer
	params    []byte // written to uniform by the next submission
	buffers   map[*Buffer]*memory
	pool      pool
	programs  map[*Program]*pipeline
	pipelines map[string]*pipeline
	groups    map[string]*bindGroup
	key       []byte // scratch
	lastID    uint64

	pace   pacer
	flight []sent // submitted, not yet known to be done
	ended  uint64 // number of pieces known to be done; pieces count from 1
	stats  Stats
	lost   error
	done   func(flops float64)
	spare  func() error
	fault  faultInjector

	profiler *timer // of the active profile; else nil
}

// Stats count what a device has created and run since Open. Times cover only the work
// that was waited for.
type Stats struct {
	Buffers, Pipelines, BindGroups int            // created
	Kept, Missed                   int            // shaders and pipelines found and not found in the cache folder
	Submissions, Dispatches        int            // a cut dispatch counts each part
	Bytes, PeakBytes               int64          // in buffers now; and the peak, including freed memory in the pool
	Longest                        time.Duration  // the longest measured submission without first runs of a pipeline
	LongestFirst                   time.Duration  // the longest with one
	Warm                           time.Duration  // total time of the submissions without first runs
	WarmFLOPs                      float64        // their total FLOPs
	Programs                       map[string]Use // by Program.Label
}

// Use is the device time of one program's dispatches.
type Use struct {
	// Estimate divides the measured time of each submission among its dispatches, in
	// proportion to their predicted times. Device.Time measures them.
	Estimate   time.Duration
	Dispatches int           // a cut dispatch counts each part
	Compile    time.Duration // of the slowest of its pipelines, while others compile; some drivers compile at the first dispatch
}

type pipeline struct {
	id     uint64
	label  string
	handle driver.Pipeline
	rates  map[shape]*rate
	ran    bool // has been part of a submission
}

// Open opens the adapter that opt selects, with all its limits, and with f16,
// subgroups, subgroup matrices and timestamps if it has them. Open first tests f16 on
// adapters where it is unproven: if the results are right, Info has F16; otherwise
// NoF16 says why not.
//
// Errors are ErrNoLibrary and ErrNoAdapter; an unknown Options.Backend gives another
// error. Close the device at the end.
func Open(opt Options) (*Device, error) {
	drv, err := openDriver(opt)
	if err != nil {
		return nil, err
	}
	d := &Device{
		drv:       drv,
		info:      drv.Info(),
		limits:    drv.Info().Limits,
		params:    make([]byte, 0, uniformSlot*uniformSlots),
		buffers:   map[*Buffer]*memory{},
		pool:      pool{of: map[kind][]*memory{}},
		programs:  map[*Program]*pipeline{},
		pipelines: map[string]*pipeline{},
		groups:    map[string]*bindGroup{},
		stats:     Stats{Programs: map[string]Use{}},
	}
	d.uniform, err = drv.NewBuffer("uniform", uniformSlot*uniformSlots, true)
	if err != nil {
		drv.Close()
		return nil, err
	}
	if err := d.check(opt); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// Info describes the adapter.
func (d *Device) Info() Info { return d.info }

// Limits returns the adapter's limits, as in Info.
func (d *Device) Limits() Limits { return d.limits }

// Stats returns the counts so far. The caller owns the map.
func (d *Device) Stats() Stats {
	s := d.stats
	s.Programs = maps.Clone(s.Programs)
	s.Kept, s.Missed = d.Kept()
	return s
}

// Kept returns Stats.Kept and Stats.Missed. It may be called from another goroutine.
func (d *Device) Kept() (found, missed int) { return d.drv.Kept() }

// OnDone sets a function that receives the FLOPs of each finished submission. The
// goroutine that waits for the submission calls it. nil removes it.
func (d *Device) OnDone(done func(flops float64)) { d.done = done }

// WhileWaiting sets a function that Submit calls before it would wait for the device,
// which then has work for about a tenth of a second. nil removes it. If f returns an
// error, Submit ends with it. f may Read a buffer that is Ready, but must not submit or
// write.
func (d *Device) WhileWaiting(f func() error) { d.spare = f }

// ResetPeaks restarts PeakBytes and the longest submissions from now.
func (d *Device) ResetPeaks() {
	d.stats.PeakBytes, d.stats.Longest, d.stats.LongestFirst = d.stats.Bytes, 0, 0
}

// Alloc gives buffers zeroed memory; it skips buffers that already have memory. If the
// pool cannot serve all of them, Alloc first releases the rest of the pool. If one
// allocation fails, with ErrTooLarge, ErrOutOfMemory or ErrDeviceLost, Alloc frees the
// buffers that this call allocated.
func (d *Device) Alloc(bufs ...*Buffer) error {
	if d.lost != nil {
		return d.lost
	}
	var made, missing []*Buffer
	zero := &Batch{Label: "kept memory"}
	for _, b := range bufs {
		if m := d.buffers[b]; m != nil {
			if m.size != b.Size {
				panic(fmt.Sprintf("gpu: buffer %q: size changed from %d to %d after Alloc", b.Label, m.size, b.Size))
			}
			continue
		}
		m := d.pooled(b)
		if m == nil {
			missing = append(missing, b)
			continue
		}
		d.give(b, m)
		made = append(made, b)
		if !m.readback { // which is copied to before it is read
			zero.Clear(b.Label, b.All())
		}
	}
	if missing != nil {
		d.drain()
	}
	for _, b := range missing {
		m, err := d.newMemory(b)
		if err != nil {
			d.Free(made...)
			return err
		}
		d.give(b, m)
		made = append(made, b)
	}
	if err := d.submit(context.Background(), zero, nil); err != nil {
		d.Free(made...)
		return err
	}
	return nil
}

// give assigns the memory m to b.
func (d *Device) give(b *Buffer, m *memory) {
	d.buffers[b] = m
	d.stats.Bytes += b.Size
	d.stats.PeakBytes = max(d.stats.PeakBytes, d.stats.Bytes+d.pool.bytes)
}

// Free releases the memory of buffers once the work that uses it is done, so it may be
// called right after Submit. It skips buffers without memory. Small pieces of memory
// stay in the pool for the next buffer of the same size.
func (d *Device) Free(bufs ...*Buffer) {
	for _, b := range bufs {
		m := d.buffers[b]
		if m == nil {
			continue
		}
		delete(d.buffers, b)
		d.stats.Bytes -= m.size
		if !d.pool.put(m) {
			d.release(m)
		}
	}
}

// Write copies data to the start of the view, in order with submissions. The length is
// a multiple of 4 and at most the view's. The caller may reuse data when Write returns.
func (d *Device) Write(v View, data []byte) error {
	if d.lost != nil {
		return d.lost
	}
	if int64(len(data)) > v.Bytes() {
		panic(fmt.Sprintf("gpu: write %d bytes to %v", len(data), v))
	}
	if len(data) == 0 {
		return nil
	}
	return d.note(d.drv.Write(d.memory(v.Buffer).handle, v.Offset, data))
}

// Read waits for all submitted work and copies the first len(dst) bytes of the view, a
// multiple of 4. It returns errors of that work, including ErrDeviceLost. If ctx ends,
// Read returns its error and the content of dst is undefined.
//
// For a Readback buffer the view must start at offset 0, and Read waits only for work
// up to the last copy to the buffer. After an error, do not read that buffer again.
// the last copy to it; after an error it is not to be read again.
func (d *Device) Read(ctx context.Context, dst []byte, v View) error {
	m, until := d.memory(v.Buffer), d.sent()
	if m.readback {
		until = m.copied
	}
	if err := d.waitFor(ctx, until); err != nil {
		return err
	}
	if int64(len(dst)) > v.Bytes() || m.readback && v.Offset != 0 {
		panic(fmt.Sprintf("gpu: read %d bytes of %v", len(dst), v))
	}
	if len(dst) == 0 {
		return nil
	}
	if !m.readback {
		return d.note(d.drv.Read(ctx, dst, m.handle, v.Offset))
	}
	err := d.drv.Take(ctx, dst, m.handle)
	m.spoiled = m.spoiled || err != nil
	return d.note(err)
}

// Ready reports whether the copies to a Readback buffer are known to be done, so that
// Read will not wait.
func (d *Device) Ready(b *Buffer) bool { return d.memory(b).copied <= d.ended }

func (d *Device) memory(b *Buffer) *memory {
	m := d.buffers[b]
	if m == nil {
		panic(fmt.Sprintf("gpu: buffer %q has no memory: call Alloc", b.Label))
	}
	return m
}

// note remembers a lost device; every later call returns that error.
func (d *Device) note(err error) error {
	if errors.Is(err, ErrDeviceLost) {
		d.lost = err
	}
	return err
}

// Prepare compiles a batch's programs ahead of Submit. A compiler error names the
// program and shows line:column with the source around it. ErrTooLarge means that a
// program exceeds the limits.
func (d *Device) Prepare(b *Batch) error {
	return d.Compile(context.Background(), []*Batch{b}, nil)
}

// fewestCompiled is the minimum number of programs compiled at once. A browser, or a
// driver in its own process, has more processors than Go sees.
const fewestCompiled = 4

// Compile prepares several batches, with as many programs at once as there are
// processors. It calls told, if not nil, after each program: done of all programs that
// had no pipeline yet.
func (d *Device) Compile(ctx context.Context, batches []*Batch, told func(done, all int)) error {
	if d.lost != nil {
		return d.lost
	}
	keys, missing := d.missing(batches)
	if told != nil && len(missing) > 0 {
		told(0, len(missing))
	}
	var under []compiling
	most, next := max(fewestCompiled, runtime.NumCPU()), 0
	for done := range missing {
		for ; next < len(missing) && len(under) < most && ctx.Err() == nil; next++ {
			under = append(under, d.compile(missing[next]))
		}
		err := ctx.Err()
		if err == nil {
			err = d.compiled(ctx, under[0])
			under = under[1:]
		}
		if err != nil {
			for _, c := range under { // release what was started
				_ = d.compiled(ctx, c)
			}
			return err
		}
		if told != nil {
			told(done+1, len(missing))
		}
	}
	for p, key := range keys {
		d.programs[p] = d.pipelines[key]
	}
	return nil
}

// wanted is a program without a pipeline.
type wanted struct {
	program     *Program
	key         string
	uniformSize int64
}

// missing returns the keys of the batches' new programs, and one program for each
// content that has no pipeline.
func (d *Device) missing(batches []*Batch) (keys map[*Program]string, list []wanted) {
	if len(d.programs) > maxPrograms {
		clear(d.programs)
	}
	keys = map[*Program]string{}
	seen := map[string]bool{}
	for _, b := range batches {
		for i := range b.Commands {
			c := &b.Commands[i]
			if c.Program == nil || d.programs[c.Program] != nil || keys[c.Program] != "" {
				continue
			}
			key := contentKey(c.Program)
			keys[c.Program] = key
			if d.pipelines[key] == nil && !seen[key] {
				seen[key] = true
				list = append(list, wanted{c.Program, key, int64(len(c.Params))})
			}
		}
	}
	return keys, list
}

// compiling is a program whose pipeline is being compiled.
type compiling struct {
	wanted
	start time.Time
	end   driver.Compiling
}

// compile starts to compile w.
func (d *Device) compile(w wanted) compiling {
	p := w.program
	return compiling{w, time.Now(), d.drv.NewPipeline(driver.PipelineDescriptor{
		Label: p.Label, Source: p.Source, Constants: p.Constants, UniformSize: w.uniformSize, Storage: p.Storage,
	})}
}

// compiled waits for c.
func (d *Device) compiled(ctx context.Context, c compiling) error {
	p := c.program
	handle, err := c.end(ctx)
	if n, most := len(p.Storage), d.limits.MaxStorageBuffers; n > most {
		return fmt.Errorf("gpu: program %s: %d storage bindings, device allows %d: %w", p.Label, n, most, ErrTooLarge)
	}
	if err != nil {
		return d.note(err)
	}
	d.lastID++
	d.pipelines[c.key] = &pipeline{id: d.lastID, label: p.Label, handle: handle, rates: map[shape]*rate{}}
	d.stats.Pipelines++
	u := d.stats.Programs[p.Label]
	u.Compile = max(u.Compile, time.Since(c.start))
	d.stats.Programs[p.Label] = u
	return nil
}

// contentKey identifies a program by everything that determines its pipeline.
func contentKey(p *Program) string {
	return fmt.Sprintf("%v\x00%v\x00%s", p.Constants, p.Storage, p.Source) // fmt prints a map in key order
}

// bindGroup finds or creates the bind group of a command.
func (d *Device) bindGroup(c *Command, l *pipeline) (driver.BindGroup, error) {
	d.key = binary.LittleEndian.AppendUint64(d.key[:0], l.id)
	for _, v := range c.Bindings {
		d.key = binary.LittleEndian.AppendUint64(d.key, d.memory(v.Buffer).id)
		d.key = binary.LittleEndian.AppendUint64(d.key, uint64(v.Offset))
		d.key = binary.LittleEndian.AppendUint64(d.key, uint64(v.Bytes()))
	}
	if g := d.groups[string(d.key)]; g != nil {
		return g.handle, nil
	}
	storage := make([]driver.Binding, len(c.Bindings))
	for i, v := range c.Bindings {
		if v.Bytes() > d.limits.MaxBinding {
			return nil, fmt.Errorf("gpu: %s: %s: binding %q: %d bytes, device allows %d: %w",
				c.Label, c.Program.Label, v.Buffer.Label, v.Bytes(), d.limits.MaxBinding, ErrTooLarge)
		}
		storage[i] = driver.Binding{Buffer: d.memory(v.Buffer).handle, Offset: v.Offset, Size: v.Bytes()}
	}
	handle, err := d.drv.NewBindGroup(c.Label, l.handle, d.uniform, storage)
	if err != nil {
		return nil, d.note(fmt.Errorf("gpu: %s: %s: %w", c.Label, c.Program.Label, err))
	}
	g := &bindGroup{handle: handle, key: string(d.key)}
	d.groups[g.key] = g
	d.stats.BindGroups++
	for _, v := range c.Bindings {
		m := d.memory(v.Buffer)
		g.uses = append(g.uses, m)
		if m.groups == nil {
			m.groups = map[*bindGroup]struct{}{}
		}
		m.groups[g] = struct{}{}
	}
	return handle, nil
}

// drop releases a bind group and removes it from the memory that it uses. Submitted
// pieces keep theirs.
func (d *Device) drop(g *bindGroup) {
	for _, m := range g.uses {
		delete(m.groups, g)
	}
	delete(d.groups, g.key)
	g.handle.Release()
}

// dropGroups releases all bind groups.
func (d *Device) dropGroups() {
	for _, g := range d.groups {
		d.drop(g)
	}
}

// Close waits for the device, then releases everything that it created. The device must
// not be used afterwards.
func (d *Device) Close() error {
	if d.lost == nil {
		_ = d.Wait(context.Background())
	}
	for b := range d.buffers {
		d.Free(b)
	}
	d.drain()
	for _, l := range d.pipelines {
		l.handle.Release()
	}
	d.uniform.Release()
	return d.drv.Close()
}
