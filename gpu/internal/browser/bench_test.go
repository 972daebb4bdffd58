//go:build js

package browser

import (
	"context"
	"fmt"
	"testing"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
)

// BenchmarkSubmit is the processor's cost of a submission of n dispatches; the
// wait for it is counted apart.
func BenchmarkSubmit(b *testing.B) {
	d := open(b)
	p, _ := d.NewPipeline(drivertest.Scale(1))
	uniform, _ := d.NewBuffer("uniform", 256, true)
	x, _ := d.NewBuffer("x", 1024, false)
	y, _ := d.NewBuffer("y", 1024, false)
	g, err := d.NewBindGroup("g", p, uniform, []driver.Binding{{Buffer: x, Size: 1024}, {Buffer: y, Size: 1024}})
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{1, 100, 1000} {
		commands := make([]driver.Command, n)
		for i := range commands {
			commands[i] = driver.Command{Pipeline: p, Group: g, Groups: [3]uint32{1, 1, 1}}
		}
		run := func(b *testing.B, wait bool) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := d.Submit("bench", commands, nil)
				if err != nil {
					b.Fatal(err)
				}
				if !wait {
					b.StopTimer()
				}
				if err := d.Wait(context.Background(), f); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) { run(b, false) })
		b.Run(fmt.Sprint(n, "/and wait"), func(b *testing.B) { run(b, true) })
	}
}

// BenchmarkCreate is what making an object takes.
func BenchmarkCreate(b *testing.B) {
	d := open(b)
	p, _ := d.NewPipeline(drivertest.Scale(1))
	uniform, _ := d.NewBuffer("uniform", 256, true)
	x, _ := d.NewBuffer("x", 1024, false)
	b.Run("buffer", func(b *testing.B) {
		for b.Loop() {
			made, err := d.NewBuffer("b", 1<<20, false)
			if err != nil {
				b.Fatal(err)
			}
			made.Release()
		}
	})
	b.Run("bind group", func(b *testing.B) {
		for b.Loop() {
			if _, err := d.NewBindGroup("g", p, uniform, []driver.Binding{{Buffer: x, Size: 512}, {Buffer: x, Size: 512}}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("pipeline", func(b *testing.B) {
		for i := 2.0; b.Loop(); i++ {
			if _, err := d.NewPipeline(drivertest.Scale(i)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkTransfer is the speed of writes, until the device has them, and of
// reads.
func BenchmarkTransfer(b *testing.B) {
	d := open(b)
	for _, size := range []int{64 << 10, 1 << 20, 64 << 20} {
		data := make([]byte, size)
		buf, err := d.NewBuffer("b", int64(size), false)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("write/%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := d.Write(buf, 0, data); err != nil {
					b.Fatal(err)
				}
				if err := d.settle(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("read/%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if err := d.Read(context.Background(), data, buf, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
		buf.Release()
	}
}
