package wgsl

import (
	"context"
	"os"
	"testing"
	"time"

	"tessera/gpu"
	"tessera/gpu/gputest"
)

func TestZZ(t *testing.T) {
	dev := gputest.Open(t)
	s := NewSet(F32)
	src, _ := os.ReadFile(os.Getenv("ZZ"))
	qkv, o := Tensor{Elem: F32, T: 1, H: 32, W: 32, C: 3 * 512}, Tensor{Elem: F32, T: 1, H: 32, W: 32, C: 512}
	in, out := &gpu.Buffer{Label: "qkv", Size: qkv.Bytes()}, &gpu.Buffer{Label: "o", Size: o.Bytes()}
	batch := &gpu.Batch{Label: "attention"}
	s.Attention(batch, "attention", qkv.in(in), o.in(out), 0, 1)
	if len(src) > 0 {
		p := *batch.Commands[0].Program
		l := loader{elem: F32, seen: map[string]bool{}}
		l.add("shared/elem_f32.wgsl", "")
		p.Source = l.out.String() + string(src)
		batch.Commands[0].Program = &p
	}
	dev.Alloc(in, out)
	for i := 0; i < 3; i++ {
		t0 := time.Now()
		if err := dev.Submit(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
		dev.Wait(context.Background())
		t.Log(time.Since(t0), dev.Info().Name)
	}
}
