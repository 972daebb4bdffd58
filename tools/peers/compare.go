//go:build !js

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tessera/gpu"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// runner runs a case in one or several ways, named PEER:WAY.
type runner interface {
	// open sets up the case in a folder, runs it once in each way, and writes the
	// outputs there as NAME.out.
	open(folder string, c Case) (opened, error)
	run(name string, n int) (seconds []float64, err error)
	close() error
}

// opened lists the ways in which a case runs, the seconds of their first run, and why
// others don't run.
type opened struct {
	Names  []string           `json:"names"`
	First  map[string]float64 `json:"first"`
	Errors map[string]string  `json:"errors"`
}

// Our own ways: as in the engine and, if the engine computes frames of a convolution in
// pairs, also frame by frame, as for the first frame of a clip.
const (
	us     = "Tessera"
	single = us + ":frame by frame"
)

// itself is our native side.
type itself struct {
	dev *gpu.Device
	now map[string]side
}

func (s *itself) open(folder string, c Case) (o opened, err error) {
	s.now, o.First = map[string]side{}, map[string]float64{}
	for _, name := range []string{us, single} {
		if name == single && !s.now[us].inPairs() {
			break
		}
		one, err := s.side(folder, c, name == single)
		if err != nil {
			return o, err
		}
		s.now[name], o.Names = one, append(o.Names, name)
		start := time.Now()
		if err := one.once(); err != nil {
			return o, err
		}
		o.First[name] = time.Since(start).Seconds()
		if err := os.WriteFile(filepath.Join(folder, name+".out"), encode(one.lay()), 0o600); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (s *itself) side(folder string, c Case, single bool) (side, error) {
	if c.Op != decoder {
		return newOurs(s.dev, c, c.numbers(), single)
	}
	model, err := vae.Open(s.dev, filepath.Join(folder, checkpoint), networkSettings)
	if err != nil {
		return nil, err
	}
	return newNetwork(model, c)
}

func (s *itself) run(name string, n int) (seconds []float64, err error) {
	for range n {
		start := time.Now()
		if err := s.now[name].once(); err != nil {
			return nil, err
		}
		seconds = append(seconds, time.Since(start).Seconds())
	}
	return seconds, nil
}

func (s *itself) close() error {
	for _, one := range s.now {
		one.close()
	}
	return nil
}

// Time is one program's time for a case.
type Time struct {
	Name   string    `json:"name"` // PEER:WAY
	Median float64   `json:"median_seconds,omitempty"`
	Best   float64   `json:"best_seconds,omitempty"`
	All    []float64 `json:"seconds,omitempty"`
	NMSE   float64   `json:"nmse"`          // relative to our result
	Not    string    `json:"not,omitempty"` // why there is no time
}

// Result is a case in all programs.
type Result struct {
	Case   Case    `json:"case"`
	Ours   Time    `json:"tessera"`
	Single *Time   `json:"tessera_frame_by_frame,omitempty"` // if Ours computes frames in pairs
	Peers  []Time  `json:"peers"`
	Best   string  `json:"best_peer,omitempty"`
	Ratio  float64 `json:"ratio,omitempty"` // the best peer's median divided by ours
	Bar    float64 `json:"bar"`
	GFLOPs float64 `json:"gflops,omitempty"` // our GFLOP/s
}

// most is the largest NMSE between a peer's result and ours. A result beyond it is
// wrong, and is not timed.
const most = 1e-9

// compare measures a case. Without rounds the first runs count.
func compare(runners []runner, folder string, c Case, rounds int) (*Result, error) {
	if err := write(folder, c); err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	r := &Result{Case: c, Ours: Time{Name: us}}
	with, first := map[string]runner{}, map[string]float64{}
	for _, one := range runners {
		o, err := one.open(folder, c)
		if err != nil {
			return nil, fmt.Errorf("%v: %w", c, err)
		}
		defer one.close()
		for name, why := range o.Errors {
			if name == us {
				return nil, fmt.Errorf("%v: %s: %s", c, us, why)
			}
			r.Peers = append(r.Peers, Time{Name: name, Not: why})
		}
		for _, name := range o.Names {
			with[name], first[name] = one, o.First[name]
			switch name {
			case us:
			case single:
				r.Single = &Time{Name: single}
			default:
				r.Peers = append(r.Peers, Time{Name: name})
			}
		}
	}
	slices.SortFunc(r.Peers, func(a, b Time) int { return strings.Compare(a.Name, b.Name) })
	if err := r.check(folder); err != nil {
		return nil, err
	}
	if err := r.measure(with, first, rounds); err != nil {
		return nil, err
	}
	r.conclude()
	return r, nil
}

// checkpoint is the file of a decoder's weights.
const checkpoint = "decoder.safetensors"

// write writes the files of a case: its numbers and their description, and a decoder's
// weights.
func write(folder string, c Case) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	n := c.numbers()
	for name, v := range map[string][]float32{"x": n.x, "weight": n.weight, "bias": n.bias} {
		if v == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name+".bin"), encode(v), 0o600); err != nil {
			return err
		}
	}
	if c.Op == decoder {
		if err := synthetic.CreateKL(filepath.Join(folder, checkpoint), synthetic.KLConfig{Quant: true}); err != nil {
			return err
		}
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "case.json"), text, 0o600)
}

// check compares the outputs with ours.
func (r *Result) check(folder string) error {
	read := func(name string) ([]float32, error) {
		b, err := os.ReadFile(filepath.Join(folder, name+".out"))
		if err == nil && len(b) != 4*r.Case.outputs() {
			err = fmt.Errorf("%s: %d bytes, expected %d", name, len(b), 4*r.Case.outputs())
		}
		return decode(b), err
	}
	want, err := read(us)
	if err != nil {
		return err
	}
	if r.Single != nil {
		got, err := read(single)
		if err != nil {
			return err
		}
		if r.Single.NMSE = nmse(got, want); !(r.Single.NMSE <= most) {
			return fmt.Errorf("%v: frame by frame our result differs by NMSE %g", r.Case, r.Single.NMSE)
		}
	}
	for i := range r.Peers {
		p := &r.Peers[i]
		if p.Not != "" {
			continue
		}
		got, err := read(p.Name)
		if err != nil {
			return err
		}
		p.NMSE = nmse(got, want)
		if !(p.NMSE <= most) {
			p.Not = fmt.Sprintf("wrong: differs by NMSE %.0e", p.NMSE)
			p.NMSE = 0 // JSON may lack it
		}
	}
	return nil
}

// measure alternates between every peer in its fastest way and us.
func (r *Result) measure(with map[string]runner, first map[string]float64, rounds int) error {
	turns := append(r.quickest(func(name string) float64 {
		if r.Case.Op == decoder { // a decoder takes minutes, and a peer has only one working way
			return 1
		}
		seconds, err := with[name].run(name, 2)
		if err != nil {
			return 0
		}
		return slices.Min(seconds)
	}), &r.Ours)
	if r.Single != nil {
		turns = append(turns, r.Single)
	}
	if rounds == 0 {
		for _, t := range turns {
			t.All = []float64{first[t.Name]}
		}
	}
	for range rounds {
		for _, t := range turns {
			n := 1
			if t == &r.Ours || t == r.Single {
				n = oursInTurn
			}
			seconds, err := with[t.Name].run(t.Name, n)
			if err != nil {
				return fmt.Errorf("%v: %s: %w", r.Case, t.Name, err)
			}
			t.All = append(t.All, seconds...)
		}
	}
	for _, t := range turns {
		t.conclude()
	}
	return nil
}

func (t *Time) conclude() { t.Median, t.Best = median(t.All), slices.Min(t.All) }

// oursInTurn is how often we run in a turn, because we are faster. The first run starts
// with what the peer left in the caches.
const oursInTurn = 3

// slower explains why a way is not timed.
const slower = ", slower than its other way"

// quickest returns the best way of each peer, and records the times of the others.
func (r *Result) quickest(took func(name string) float64) []*Time {
	best, seconds := map[string]*Time{}, map[*Time]float64{}
	for i := range r.Peers {
		t := &r.Peers[i]
		if t.Not != "" {
			continue
		}
		seconds[t] = took(t.Name)
		if seconds[t] == 0 {
			t.Not = "failed as it was run again"
			continue
		}
		peer, _, _ := strings.Cut(t.Name, ":")
		before := best[peer]
		if before == nil || seconds[t] < seconds[before] {
			best[peer] = t
		}
	}
	var turns []*Time
	for t, s := range seconds {
		peer, _, _ := strings.Cut(t.Name, ":")
		if best[peer] == t {
			turns = append(turns, t)
		} else if t.Not == "" {
			t.Not = fmt.Sprintf("%.0f ms", 1e3*s) + slower
		}
	}
	slices.SortFunc(turns, func(a, b *Time) int { return strings.Compare(a.Name, b.Name) })
	return turns
}

// conclude computes the ratio to the best peer.
func (r *Result) conclude() {
	var best *Time
	for i := range r.Peers {
		t := &r.Peers[i]
		if t.Median > 0 && (best == nil || t.Median < best.Median) {
			best = t
		}
	}
	r.GFLOPs = r.Case.flops() / r.Ours.Median / 1e9
	if best != nil {
		r.Best, r.Ratio = best.Name, best.Median/r.Ours.Median
	}
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
