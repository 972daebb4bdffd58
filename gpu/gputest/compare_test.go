package gputest

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cases := []struct {
		name      string
		got, want []float64
		bound     float64
		fault     string // "" if equal
	}{
		{"equal", []float64{1, 2}, []float64{1, 2}, 0, ""},
		{"within", []float64{1 + 1e-6, 2}, []float64{1, 2}, 1e-10, ""},
		{"beyond", []float64{1, 2, 3.1}, []float64{1, 2, 3}, 1e-5, "first bad index 2: got 3.1, want 3"},
		{"not exact", []float64{1, 2 + 1e-9}, []float64{1, 2}, 0, "first bad index 1"},
		{"poison left", []float64{1, nan}, []float64{1, 2}, 1e-4, "first bad index 1: got NaN"},
		{"overflow", []float64{1, inf}, []float64{1, 2}, 1e-4, "got +Inf"},
		{"wanted NaN", []float64{nan, inf, 3}, []float64{nan, inf, 3}, 1e-9, ""},
		{"lost NaN", []float64{0, 1}, []float64{nan, 1}, 1e-4, "got 0, want NaN"},
		{"other infinity", []float64{-inf}, []float64{inf}, 1e-4, "got -Inf"},
		{"dirty zero", []float64{1, 1e-30}, []float64{1, 0}, 1e-4, "first bad index 1: got 1e-30, want 0"},
		{"short", []float64{1}, []float64{1, 2}, 1e-4, "1 numbers, want 2"},
		{"loose bound", []float64{1}, []float64{1}, 1e-3, "bound 0.001"},
		{"no bound", []float64{1}, []float64{1}, nan, "bound NaN"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := Compare(c.got, c.want, c.bound)
			if c.fault == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.fault)
			}
		})
	}
}

func TestNMSE(t *testing.T) {
	require.InDelta(t, 1.0/34, NMSE([]float64{3, 4}, []float64{3, 5}), 1e-15)
	require.Equal(t, math.Inf(1), NMSE([]float64{1}, []float64{0}), "against zeros")
}

func TestEncode(t *testing.T) {
	for _, f := range []Format{Float32, Float16, Uint32} {
		t.Run(fmt.Sprint("format ", f), func(t *testing.T) {
			a := Array{Format: f, Data: []float32{1, 2, 65504, 5}, Guard: 2}
			inner, before, after := a.guarded(a.encode())
			require.Equal(t, []float64{1, 2, 65504, 5}, decode(inner, f))
			guard := bytes.Repeat([]byte{0xed, 0x7f}, f.Bytes())
			require.Equal(t, guard, before)
			require.Equal(t, guard, after)
			poisoned := Array{Format: f, Len: 3}
			start := decode(poisoned.encode(), f)
			require.Len(t, start, 3)
			for i := range start {
				require.True(t, f == Uint32 || math.IsNaN(start[i]), "output starts as %v", start)
			}
		})
	}
}

func TestRepeatLine(t *testing.T) {
	require.Equal(t, "^TestAttention$/^two_frames$/^f16$", pattern("TestAttention/two_frames/f16"))
	require.Equal(t, "./gpu/gputest", packagePath())
}
