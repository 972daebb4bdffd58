//go:build !js

package dawn

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"tessera/gpu/internal/driver"
)

// TestLargeTransfers writes and reads more than a chunk of each, at odd places.
func TestLargeTransfers(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		const size = readChunk + writeChunk + 52
		data := make([]byte, size)
		random := rand.NewChaCha8([32]byte{1})
		_, _ = random.Read(data)
		b := must(d.NewBuffer("large", size+8, false))(t)
		if err := d.Write(b, 4, data); err != nil {
			t.Fatal(err)
		}
		if err := d.Write(b, 4+100, []byte("later")[:4]); err != nil {
			t.Fatal(err)
		}
		copy(data[100:], "late")
		got := make([]byte, size+8)
		if err := d.Read(context.Background(), got, b, 0); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got[4:4+size], data) {
			t.Error("read back other bytes than written")
		}
		if !bytes.Equal(got[:4], make([]byte, 4)) || !bytes.Equal(got[4+size:], make([]byte, 4)) {
			t.Errorf("around it: %v, %v, want zeros", got[:4], got[4+size:])
		}
		part := make([]byte, 64)
		if err := d.Read(context.Background(), part, b, size-100); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(part, got[size-100:size-36]) {
			t.Error("a part reads otherwise than the whole")
		}
	})
}

// TestOrder: writes, submissions and reads happen in the order of the calls.
func TestOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, d *device) {
		b, c := newBuffer(t, d, words(1)), newBuffer(t, d, words(0))
		for i := range uint32(20) {
			if err := d.Write(b, 0, words(i)); err != nil {
				t.Fatal(err)
			}
			must(d.Submit("copy", []driver.Command{{Src: driver.Binding{Buffer: b, Size: 4}, Dst: driver.Binding{Buffer: c, Size: 4}}}))(t)
			if err := d.Write(b, 0, words(99)); err != nil {
				t.Fatal(err)
			}
			if got := read(t, d, c, 1); got[0] != i {
				t.Fatalf("read %d, want %d", got[0], i)
			}
		}
	})
}

// BenchmarkSubmit is the processor's cost of a dispatch and of a submission.
func BenchmarkSubmit(b *testing.B) {
	dev, err := Open(driver.Options{Adapter: -1})
	if err != nil {
		b.Skip(err)
	}
	defer dev.Close()
	d := dev.(*device)
	d2 := scaleDescriptor(1)
	p, _ := d.NewPipeline(d2)
	uniform, _ := d.NewBuffer("uniform", 256, true)
	buf, _ := d.NewBuffer("x", 1024, false)
	out, _ := d.NewBuffer("y", 1024, false)
	g, err := d.NewBindGroup("g", p, uniform, []driver.Binding{{Buffer: buf, Size: 1024}, {Buffer: out, Size: 1024}})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		n    int
	}{{"1", 1}, {"1000", 1000}} {
		commands := make([]driver.Command, c.n)
		for i := range commands {
			commands[i] = driver.Command{Pipeline: p, Group: g, Groups: [3]uint32{1, 1, 1}}
		}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := d.Submit("bench", commands)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := d.Wait(context.Background(), f); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		})
	}
}
