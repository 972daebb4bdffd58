//go:build !js

package dawn

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
)

// BenchmarkSubmit measures the processor time of a dispatch and of a submission.
func BenchmarkSubmit(b *testing.B) {
	d := open(b, driver.Options{Adapter: -1})
	p := drivertest.Must(drivertest.Compile(d, drivertest.Scale(1)))(b)
	uniform := drivertest.Must(d.NewBuffer("uniform", 256, true))(b)
	buf := drivertest.Must(d.NewBuffer("x", 1024, false))(b)
	out := drivertest.Must(d.NewBuffer("y", 1024, false))(b)
	g := drivertest.Must(d.NewBindGroup("g", p, uniform, []driver.Binding{{Buffer: buf, Size: 1024}, {Buffer: out, Size: 1024}}))(b)
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
				b.StopTimer()
				require.NoError(b, err)
				require.NoError(b, d.Wait(context.Background(), f))
				b.StartTimer()
			}
		})
	}
}

// BenchmarkAdapters measures the search for adapters with which each start begins.
func BenchmarkAdapters(b *testing.B) {
	for b.Loop() {
		_, err := Adapters(driver.Options{})
		require.NoError(b, err)
	}
}
