package gputest

import (
	"math"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cases := []struct {
		name      string
		got, want []float64
		bound     float64
		fault     string // "" where equal
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
			if c.fault == "" && err != nil {
				t.Fatal(err)
			}
			if c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
				t.Fatalf("got error %v, want one with %q", err, c.fault)
			}
		})
	}
}

func TestNMSE(t *testing.T) {
	if got := NMSE([]float64{3, 4}, []float64{3, 5}); math.Abs(got-1.0/34) > 1e-15 {
		t.Errorf("NMSE = %v, want 1/34", got)
	}
	if got := NMSE([]float64{1}, []float64{0}); !math.IsInf(got, 1) {
		t.Errorf("NMSE against zeros = %v, want +Inf", got)
	}
}

func TestEncode(t *testing.T) {
	for _, f := range []Format{Float32, Float16, Uint32} {
		a := Array{Format: f, Data: []float32{1, 2, 65504, 5}, Guard: 2}
		inner, before, after := a.guarded(a.encode())
		got := decode(inner, f)
		for i, w := range a.Data {
			if got[i] != float64(w) {
				t.Errorf("format %d: number %d is %v, want %v", f, i, got[i], w)
			}
		}
		if len(before) != 2*f.Bytes() || len(after) != 2*f.Bytes() || before[0] != 0xed || after[1] != 0x7f {
			t.Errorf("format %d: guards % x, % x", f, before, after)
		}
		poisoned := Array{Format: f, Len: 3}
		for _, v := range decode(poisoned.encode(), f) {
			if f != Uint32 && !math.IsNaN(v) {
				t.Errorf("format %d: output starts as %v, want NaN", f, v)
			}
		}
	}
}

func TestRepeatLine(t *testing.T) {
	if got := pattern("TestAttention/two_frames/f16"); got != "^TestAttention$/^two_frames$/^f16$" {
		t.Errorf("pattern %q", got)
	}
	if got := packagePath(); got != "./gpu/gputest" {
		t.Errorf("package path %q", got)
	}
}
