package engine

import (
	"context"
	"fmt"
	"slices"

	"tessera/gpu"
	"tessera/wgsl"
)

// Slice is n frames of a clip, starting at frame t.
type Slice struct {
	T, N int
	at   Position
	Kind int // slices of one kind have equal n and at

	begins bool // the slice begins a cycle after others
}

// sliced divides total frames into head frames, then step at a time. A clip that is no
// longer than head is one slice, as in SeedVR2's reference (slicing_encode and
// slicing_decode of attn_video_vae.py).
func sliced(total, head, step int) []Slice {
	if total <= head {
		return []Slice{{N: total, at: Whole}}
	}
	all := []Slice{{N: head, at: First}}
	for t := head; t < total; t += step {
		s := Slice{T: t, N: min(step, total-t), at: Steady, Kind: 1}
		if s.N < step && len(all) > 1 {
			s.Kind = 2
		}
		all = append(all, s)
	}
	return all
}

// singleFrames returns total separate frames, each a clip of one frame, or of n equal
// ones.
func singleFrames(total, n int) []Slice {
	var all []Slice
	for i := range total {
		all = append(all, Slice{T: i * n, N: n, at: Whole})
	}
	return all
}

// Recording is what a module does with one slice of one tile shape: steps that run for
// every such slice, once their memory is placed.
type Recording struct {
	Steps   []Step
	In, Out wgsl.Tensor // Out is valid until the next recording runs
	Marked  []Marked
	layers  []recorded
	batch   *gpu.Batch
	number  int // of the arena's batch
	Cost    gpu.Cost

	transfers []transfer // of what lives on the host
	lifetime  []lifetime // per layer
}

// recorded is a layer. Its commands are those from the end of the previous layer up to
// end.
type recorded struct {
	name, kind string
	end        int
}

// Batches returns the recording's batches on the device.
func (r *Recording) Batches() (list []*gpu.Batch) {
	for _, s := range r.Steps {
		if b, ok := s.(*RunBatch); ok {
			list = append(list, b.Batch)
		}
	}
	return list
}

// Marked is a module's named output: after the given number of commands, Out holds it.
type Marked struct {
	Name string
	End  int
	Out  wgsl.Tensor
}

// recordings are the recordings of one module at several tile shapes, and the memory that
// they share.
type recordings struct {
	name    string
	net     Module
	from    Source // of the input
	set     *wgsl.Set
	limits  gpu.Limits
	noFold  bool
	outputs int  // needed channels; 0: all
	depth   int  // of portions
	rows    bool // see Plan.InPlace
	hosts   hostActivations
	full    bool // see Direction.Full
	arena   *arena
	memory  *memoryBank
	byShape map[recordingKey]*Recording

	weights  *Weights
	streams  int           // see saving
	streamed []*gpu.Buffer // of the weights

	lookaheads [][]lookahead // per kind of slice, if layers read ahead; nil: they do not
}

// recordingKey identifies a recording.
type recordingKey struct {
	h, w, c, n int
	at         Position
	begins     bool
	windows    string
	kind       int // of a slice, if layers read ahead
}

// tileShape is a module's input, h x w cells of c channels, with the windows of its
// layers.
type tileShape struct {
	h, w, c int
	windows Windows
}

func newRecordings(name string, net Module, from Source, set *wgsl.Set, limits gpu.Limits, noFold bool) *recordings {
	return &recordings{
		name: name, net: net, from: from, set: set, limits: limits, noFold: noFold,
		arena: newArena(limits.MaxBuffer), memory: newMemoryBank(), byShape: map[recordingKey]*Recording{},
	}
}

// of records the module on a slice's frames of a shape, once. Call place after the last
// recording.
func (s *recordings) of(ctx context.Context, shape tileShape, at Slice) (*Recording, error) {
	key := recordingKey{shape.h, shape.w, shape.c, at.N, at.at, at.begins, shape.windows.key(), 0}
	if s.lookaheads != nil {
		key.kind = at.Kind
	}
	if r := s.byShape[key]; r != nil {
		return r, nil
	}
	g := &Graph{at: at.at, begins: at.begins, full: s.full, windows: shape.windows, outputs: s.outputs, depth: s.depth, away: s.memory.away}
	if s.lookaheads != nil {
		g.lookaheads = s.lookaheads[at.Kind]
	}
	in := g.record(node{label: "input", out: Value{T: at.N, H: shape.h, W: shape.w, C: shape.c}})
	out := s.net.Forward(g, in)
	r, err := s.emit(ctx, g, in, out, fmt.Sprintf("%s %dx%dx%d", s.name, at.N, shape.h, shape.w))
	if err != nil {
		return nil, err
	}
	s.byShape[key] = r
	return r, nil
}

// place assigns all recorded uses to buffers that the recordings share.
func (s *recordings) place() {
	s.stream()
	in := s.arena.place()
	for _, r := range s.byShape {
		r.In.Buffer, r.Out.Buffer = in[r.In.Buffer], in[r.Out.Buffer]
		for i := range r.Marked {
			r.Marked[i].Out.Buffer = in[r.Marked[i].Out.Buffer]
		}
		for i := range r.batch.Commands {
			c := &r.batch.Commands[i]
			resolve(in, &c.Src)
			resolve(in, &c.Dst)
			for k := range c.Bindings {
				resolve(in, &c.Bindings[k])
			}
		}
		r.Steps = r.between(in)
		if r.In.T > 0 {
			r.Steps = append([]Step{&Upload{allOf(r.In), s.from}}, r.Steps...)
		}
	}
}

// resolve replaces a placeholder buffer by the arena buffer that holds it.
func resolve(in map[*gpu.Buffer]*gpu.Buffer, v *gpu.View) {
	if b := in[v.Buffer]; b != nil {
		v.Buffer = b
	}
}

// emit gives a graph's values memory and converts its operations to commands. It
// allocates an operation's output before it frees the inputs that the operation was the
// last to read.
func (s *recordings) emit(ctx context.Context, g *Graph, in, out Value, label string) (*Recording, error) {
	e := &emitter{
		ctx: ctx, set: s.set, arena: s.arena, bank: s.memory, limits: s.limits, noFold: s.noFold, depth: s.depth, rows: s.rows,
		batch: &gpu.Batch{Label: label}, tensors: map[int]wgsl.Tensor{}, hosts: &s.hosts,
	}
	e.hosts.begin(g, in, out)
	e.clips = slices.ContainsFunc(g.nodes, func(n node) bool { return n.clip })
	readers := map[int]int{out.id: 1}
	for _, n := range g.nodes {
		for _, v := range append(n.reads, n.onto) {
			readers[v.id]++
		}
	}
	r := &Recording{}
	marks := g.marks
	for i := range g.nodes {
		from := e.arena.now
		e.node(&g.nodes[i], readers)
		r.lifetime = append(r.lifetime, e.lifetime(from))
		r.layers = append(r.layers, recorded{g.nodes[i].label, g.nodes[i].kind, len(e.batch.Commands)})
		if !e.proceed() {
			return nil, e.err
		}
		for len(marks) > 0 && marks[0].node == i+1 {
			if x := e.tensors[marks[0].value.id]; e.hosted(&x) { // it is not on the device any more
				marks = marks[1:]
				continue
			}
			r.Marked = append(r.Marked, Marked{marks[0].name, len(e.batch.Commands), e.tensors[marks[0].value.id]})
			marks = marks[1:]
		}
	}
	e.arena.free(e.tensors[out.id].Buffer)
	for _, b := range s.memory.order {
		if b.Size > s.limits.MaxBuffer {
			return nil, fmt.Errorf("engine: %s: %s, device allows %s in a buffer: %w", b.Label, Bytes(b.Size), Bytes(s.limits.MaxBuffer), gpu.ErrTooLarge)
		}
	}
	r.In, r.Out, r.Cost = e.tensors[in.id], e.tensors[out.id], e.batch.Cost()
	r.batch, r.number, r.transfers = e.batch, s.arena.batch, e.transfers
	s.arena.batch++
	return r, nil
}

// buffers returns the recordings' buffers, without weights.
func (s *recordings) buffers() []*gpu.Buffer {
	return append(append([]*gpu.Buffer(nil), s.arena.buffers...), s.memory.buffers()...)
}

// emitter converts a graph's operations to commands.
type emitter struct {
	ctx     context.Context
	set     *wgsl.Set
	arena   *arena
	bank    *memoryBank
	limits  gpu.Limits
	noFold  bool
	depth   int  // of portions
	rows    bool // see Plan.InPlace
	clips   bool // an operation reads all frames as one
	hosts   *hostActivations
	at      Position // of the current operation
	batch   *gpu.Batch
	tensors map[int]wgsl.Tensor // by value
	scratch []*gpu.Buffer       // of the current operation
	err     error               // the first one; recording continues to the operation's end, which keeps operations simple

	x            wgsl.Tensor   // input of the current operation: in a band, rows of it
	reach        reach         // of the operation
	b            band          // the current band
	makes        int           // frames per command
	many         bool          // there are several bands
	made         wgsl.Scratch  // intermediate results of its convolution
	unbiased     wgsl.Weights  // the operation's weights without bias, if set
	copies       []*gpu.Buffer // of the band
	pendingBands []pendingBand // finished bands that wait for their places

	transfers []transfer // so far
	rotation  *Rotate    // ends the operation; nil: none
}

// node makes the commands of one operation.
func (e *emitter) node(n *node, readers map[int]int) {
	e.at, e.arena.layer = n.at, n.label
	var y wgsl.Tensor
	over := (n.over || e.inPlace(n)) && readers[n.reads[0].id] == 1
	switch {
	case n.onto.id != 0:
		if readers[n.onto.id] > 1 {
			panic(fmt.Sprintf("engine: %s: adds to a value that is read later", n.label))
		}
		y = e.tensors[n.onto.id]
	case over:
		y = e.within(n)
	case n.out.id != 0:
		y = e.tensor(n.label, n.out)
	}
	if n.out.id != 0 {
		e.tensors[n.out.id] = y
	}
	if n.emit != nil && e.err == nil {
		e.all(n, &y)
	}
	e.many = false
	e.rotate()
	e.release()
	for i, v := range n.reads {
		readers[v.id]--
		if b := e.tensors[v.id].Buffer; readers[v.id] == 0 && !(over && i == 0) && !e.hosts.free(b) {
			e.arena.free(b)
		}
	}
	if n.out.id != 0 && readers[n.out.id] == 0 {
		panic(fmt.Sprintf("engine: %s: its output is never read", n.label))
	}
}

// tensor allocates memory for a value.
func (e *emitter) tensor(label string, v Value) wgsl.Tensor {
	x := wgsl.Tensor{Elem: e.set.Elem, T: v.T, H: v.H, W: v.W, C: v.C}
	if e.hosts.alloc(label, v, &x) {
		return x
	}
	x.Buffer = e.alloc(label, max(x.Bytes(), 4)) // at the end of a clip there may be no frames
	return x
}

// temporary allocates f32 memory that lives as long as the operation.
func (e *emitter) temporary(label string, bytes int64) gpu.View {
	b := e.alloc(label, bytes)
	e.scratch = append(e.scratch, b)
	return b.All()
}

// release frees temporary memory before the operation ends, except what other bands need.
func (e *emitter) release() {
	if e.many {
		return
	}
	for _, b := range e.scratch {
		e.arena.free(b)
	}
	e.scratch, e.unbiased = e.scratch[:0], wgsl.Weights{}
	e.made.Reset()
}

func (e *emitter) alloc(label string, bytes int64) *gpu.Buffer {
	b, err := e.arena.alloc(label, bytes)
	if err != nil {
		e.fail(err)
		b = &gpu.Buffer{Label: label, Size: bytes}
	}
	return b
}

func (e *emitter) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// proceed reports whether recording continues: there is no error and ctx has not ended.
func (e *emitter) proceed() bool {
	if !e.stopped() {
		e.growCommands()
	}
	return e.err == nil
}

func (e *emitter) stopped() bool {
	if e.err == nil {
		e.err = e.ctx.Err()
	}
	return e.err != nil
}

// time returns the timeline around a layer's input.
func (e *emitter) time(layer string, c Causal) *timeline {
	l := &timeline{Causal: c, at: e.at, x: e.x, rows: e.b.next - e.b.lo}
	if e.at != Whole && c.kept() > 0 {
		e.loadMemory(l, layer, c.kept())
	}
	return l
}

// bindAlign divides a binding's offset: the largest alignment that any device requires.
const bindAlign = 256

// atOnce returns how many frames of each tensor one dispatch may bind.
func (e *emitter) atOnce(x ...*wgsl.Tensor) int { return wgsl.AtOnce(e.limits.MaxBinding, x...) }

// behind is atOnce for frames that must be contiguous.
func (e *emitter) behind(x, y *wgsl.Tensor) int {
	if x.Rows > 0 || y.Rows > 0 {
		return 1
	}
	return e.atOnce(x, y)
}
