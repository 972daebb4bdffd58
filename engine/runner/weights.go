package runner

import (
	"context"
	"fmt"
	"maps"

	"tessera/engine"
	"tessera/gpu"
)

// Store holds the weights of one model's networks: those on the device, and those that
// are streamed from the host.
type Store struct {
	Dev *gpu.Device

	on   map[*gpu.Buffer]bool   // filled buffers on the device
	host map[*gpu.Buffer][]byte // packed bytes
}

// NewStore returns a store without weights.
func NewStore(dev *gpu.Device) *Store {
	return &Store{dev, map[*gpu.Buffer]bool{}, map[*gpu.Buffer][]byte{}}
}

// Load loads the weights that a plan reads to the device, and streamed ones to the host,
// and frees the network's others. told, if not nil, receives the bytes loaded so far.
// After an error the network has no weights.
func (s *Store) Load(ctx context.Context, p *engine.Plan, from engine.Tensors, told func(done, total int64)) (err error) {
	w, missing := p.Network().Weights, map[*gpu.Buffer]bool{}
	defer func() {
		if err != nil {
			s.free(w)
		}
	}()
	needed, streamed := set(p.Work.Weights), set(p.Work.Streamed)
	var total int64
	for _, b := range w.Buffers() {
		if s.on[b] && !needed[b] {
			s.Dev.Free(b)
			delete(s.on, b)
		}
		if !streamed[b] {
			delete(s.host, b)
		}
		if needed[b] && !s.on[b] || streamed[b] && s.host[b] == nil {
			missing[b] = true
			total += b.Size
		}
	}
	var done int64
	err = w.Make(ctx, s.Dev, from, missing, func(buffers []*gpu.Buffer) error {
		for _, b := range buffers {
			if !missing[b] {
				continue
			}
			done += b.Size
			if streamed[b] {
				if err := s.moveToHost(ctx, b); err != nil {
					return err
				}
				delete(missing, b)
			}
		}
		if told != nil {
			told(done, total)
		}
		return nil
	})
	if err != nil {
		return err
	}
	maps.Copy(s.on, missing)
	return nil
}

// moveToHost moves a buffer from the device, which has packed it, to the host.
func (s *Store) moveToHost(ctx context.Context, b *gpu.Buffer) error {
	data := make([]byte, b.Size)
	if err := s.Dev.Read(ctx, data, b.All()); err != nil {
		return fmt.Errorf("runner: weights: %w", err)
	}
	s.Dev.Free(b)
	s.host[b] = data
	return nil
}

// Unload frees weights, if any are loaded.
func (s *Store) Unload(w *engine.Weights) {
	for _, b := range w.Buffers() {
		if s.on[b] || s.host[b] != nil {
			s.free(w)
			return
		}
	}
}

func (s *Store) free(w *engine.Weights) {
	s.Dev.Free(w.Buffers()...)
	for _, b := range w.Buffers() {
		delete(s.on, b)
		delete(s.host, b)
	}
}

func set(buffers []*gpu.Buffer) map[*gpu.Buffer]bool {
	in := map[*gpu.Buffer]bool{}
	for _, b := range buffers {
		in[b] = true
	}
	return in
}
