//go:build !js

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stand is a runner whose ways give a constant result and take a fixed time.
type stand map[string]struct{ gives, takes float64 }

func (s stand) open(folder string, c Case) (opened, error) {
	o := opened{First: map[string]float64{}, Errors: map[string]string{"a:none": "has no such kernel"}}
	for name, way := range s {
		if name == us && way.takes == 0 {
			o.Errors[us] = "has no memory"
			continue
		}
		y := make([]float32, c.outputs())
		for i := range y {
			y[i] = float32(way.gives)
		}
		o.Names, o.First[name] = append(o.Names, name), 10*way.takes
		if err := os.WriteFile(filepath.Join(folder, name+".out"), encode(y), 0o600); err != nil {
			return o, err
		}
	}
	return o, nil
}

func (s stand) run(name string, n int) (seconds []float64, err error) {
	if s[name].takes == 0 {
		return nil, errors.New("lost its device")
	}
	for range n {
		seconds = append(seconds, s[name].takes)
	}
	return seconds, nil
}

func (stand) close() error { return nil }

// The ratio is to the fastest peer, each peer in its fastest way. One that is wrong, or
// fails, has no time however fast it is.
func TestCompare(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "case")
	c := Case{Op: conv3d, In: 2, Out: 2, T: 1, H: 2, W: 2}
	r, err := compare([]runner{stand{
		us: {1, 0.5}, single: {1, 0.7}, "a:slow": {1, 8}, "a:quick": {1.000001, 6}, "a:wrong": {1.01, 0.1}, "b:only": {1, 7}, "c:lost": {1, 0},
	}}, folder, c, 2)
	require.NoError(t, err)
	assert.Equal(t, "a:quick", r.Best)
	assert.InDelta(t, 12, r.Ratio, 1e-9)
	not := map[string]string{}
	for _, p := range r.Peers {
		not[p.Name] = p.Not
		assert.Equal(t, p.Not == "", p.Median > 0, p.Name)
	}
	assert.Equal(t, map[string]string{
		"a:none": "has no such kernel", "a:slow": "8000 ms, slower than its other way", "a:quick": "",
		"a:wrong": "wrong: differs by NMSE 1e-04", "b:only": "", "c:lost": "failed as it was run again",
	}, not)
	assert.InDelta(t, 0.7, r.Single.Median, 1e-9)
	r, err = compare([]runner{stand{us: {1, 0.5}, "b:only": {1, 7}}}, folder, c, 0)
	require.NoError(t, err)
	assert.Equal(t, []float64{70}, r.Peers[1].All, "the first run")
	assert.InDelta(t, 14, r.Ratio, 1e-9)
	_, err = compare([]runner{stand{us: {1, 1}, single: {2, 1}}}, folder, c, 1)
	require.ErrorContains(t, err, "frame by frame our result differs")
	_, err = compare([]runner{stand{us: {1, 0}, "b:only": {1, 7}}}, folder, c, 1)
	require.ErrorContains(t, err, "Tessera: has no memory")
	assert.NoDirExists(t, folder)
}

// Two orders of numbers: ours channels last, followed by a frame of zeros, and tokens
// with query, key and value side by side.
func TestLayOut(t *testing.T) {
	o := &ours{of: Case{Op: conv3d, In: 2, T: 1, H: 1, W: 2}, in: make([]byte, 4*2*2*2)}
	o.layOut([]float32{1, 2, 3, 4})
	assert.Equal(t, []float32{1, 3, 2, 4, 0, 0, 0, 0}, decode(o.in))
	o.winograd = true
	o.in = make([]byte, 4*3*2*2)
	o.layOut([]float32{1, 2, 3, 4})
	assert.Equal(t, []float32{0, 0, 0, 0, 1, 3, 2, 4, 0, 0, 0, 0}, decode(o.in))
	o = &ours{of: Case{Op: attention, In: 2, T: 1, H: 1, W: 2}, in: make([]byte, 4*3*2*2)}
	o.layOutTokens([]float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
	assert.Equal(t, []float32{1, 2, 5, 6, 9, 10, 3, 4, 7, 8, 11, 12}, decode(o.in))
}
