//go:build !js

package dawn

import (
	"context"
	"testing"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
)

// BenchmarkSubmit is the processor's cost of a dispatch and of a submission.
func BenchmarkSubmit(b *testing.B) {
	dev, err := Open(driver.Options{Adapter: -1})
	if err != nil {
		b.Skip(err)
	}
	defer dev.Close()
	d := dev.(*device)
	d2 := drivertest.Scale(1)
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
				f, err := d.Submit("bench", commands, nil)
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
