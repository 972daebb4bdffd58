package engine

import "tessera/gpu"

// Streamed weights: if the device has no room for all weights, large ones live on the
// host, packed, and are uploaded right before a layer that uses them, into memory that
// activations do not use at that time. A slice uses most of them once. Weights of layers
// that portions repeat are uploaded for each portion.

// minStreamed is the smallest share of all weights that is worth streaming.
const minStreamed = 1.0 / 1024

// lifetime is when a layer runs, in the arena's time, and the number of transfers up to
// its end.
type lifetime struct{ from, till, transfers int }

// lifetime returns the lifetime of the layer just recorded, which began at time from.
func (e *emitter) lifetime(from int) lifetime {
	e.arena.now++ // so that a layer takes some time
	return lifetime{from, e.arena.now, len(e.transfers)}
}

// stream puts weights on the host that a slice uses at most s.streams times, and uploads them
// for each layer that uses them.
func (s *recordings) stream() {
	if s.streams == 0 {
		return
	}
	all := make([]*Recording, len(s.byShape))
	for _, r := range s.byShape {
		all[r.number] = r
	}
	used := map[*gpu.Buffer]int{} // most uses by the layers of one recording
	for _, r := range all {
		n := map[*gpu.Buffer]int{}
		for i := range r.layers {
			r.views(i, func(v []*gpu.View) { n[v[0].Buffer]++ })
		}
		for b, n := range n {
			used[b] = max(used[b], n)
		}
	}
	streams := map[*gpu.Buffer]bool{}
	for _, l := range s.weights.loads { // buffers that are made together move together
		var most int
		var mine []*gpu.Buffer
		for _, b := range l.buffers {
			if used[b] > 0 {
				mine = append(mine, b)
			}
			most = max(most, used[b])
		}
		if most > s.streams || float64(sum(mine)) < minStreamed*float64(s.weights.Bytes()) {
			continue
		}
		s.streamed = append(s.streamed, mine...)
		for _, b := range mine {
			streams[b] = true
		}
	}
	for _, r := range all {
		r.stream(s, streams)
	}
}

// views calls f with the views of each buffer that commands of layer i bind.
func (r *Recording) views(i int, f func(views []*gpu.View)) {
	begin := 0
	if i > 0 {
		begin = r.layers[i-1].end
	}
	var order []*gpu.Buffer
	views := map[*gpu.Buffer][]*gpu.View{}
	for k := begin; k < r.layers[i].end; k++ {
		bindings := r.batch.Commands[k].Bindings
		for b := range bindings {
			v := &bindings[b]
			if views[v.Buffer] == nil {
				order = append(order, v.Buffer)
			}
			views[v.Buffer] = append(views[v.Buffer], v)
		}
	}
	for _, b := range order {
		f(views[b])
	}
}

// stream uploads weights before each layer that binds them, after the transfers of the layer
// before, whose memory they may overwrite.
func (r *Recording) stream(s *recordings, streams map[*gpu.Buffer]bool) {
	var transfers []transfer
	begin, done := 0, 0
	for i, l := range r.lifetime {
		r.views(i, func(views []*gpu.View) {
			weight := views[0].Buffer
			if !streams[weight] {
				return
			}
			own := &gpu.Buffer{Label: weight.Label, Size: weight.Size}
			s.arena.uses = append(s.arena.uses, &use{own: own, batch: r.number, from: l.from, till: l.till, last: r.layers[i].name})
			for _, v := range views {
				v.Buffer, v.Size = own, v.Bytes()
			}
			step := &Upload{gpu.View{Buffer: own, Size: own.Size}, HostWeight{weight}}
			transfers = append(transfers, transfer{begin, step, &step.To, own.Size})
		})
		transfers = append(transfers, r.transfers[done:l.transfers]...)
		begin, done = r.layers[i].end, l.transfers
	}
	r.transfers = transfers
}
