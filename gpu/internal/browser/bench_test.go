//go:build js

package browser

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/internal/driver"
	"tessera/gpu/internal/driver/drivertest"
)

// BenchmarkSubmit measures the processor time of a submission of n dispatches; the wait
// for it is reported separately.
func BenchmarkSubmit(b *testing.B) {
	d := open(b)
	p := drivertest.Must(drivertest.Compile(d, drivertest.Scale(1)))(b)
	uniform := drivertest.Must(d.NewBuffer("uniform", 256, true))(b)
	x := drivertest.Must(d.NewBuffer("x", 1024, false))(b)
	y := drivertest.Must(d.NewBuffer("y", 1024, false))(b)
	g := drivertest.Must(d.NewBindGroup("g", p, uniform, []driver.Binding{{Buffer: x, Size: 1024}, {Buffer: y, Size: 1024}}))(b)
	for _, n := range []int{1, 100, 1000} {
		commands := make([]driver.Command, n)
		for i := range commands {
			commands[i] = driver.Command{Pipeline: p, Group: g, Groups: [3]uint32{1, 1, 1}}
		}
		run := func(b *testing.B, wait bool) {
			b.ReportAllocs()
			for b.Loop() {
				f, err := d.Submit("bench", commands, nil)
				if !wait {
					b.StopTimer()
				}
				require.NoError(b, err)
				require.NoError(b, d.Wait(context.Background(), f))
				b.StartTimer()
			}
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) { run(b, false) })
		b.Run(fmt.Sprint(n, "/and wait"), func(b *testing.B) { run(b, true) })
	}
}

// BenchmarkCreate measures the creation of objects.
func BenchmarkCreate(b *testing.B) {
	d := open(b)
	p := drivertest.Must(drivertest.Compile(d, drivertest.Scale(1)))(b)
	uniform := drivertest.Must(d.NewBuffer("uniform", 256, true))(b)
	x := drivertest.Must(d.NewBuffer("x", 1024, false))(b)
	b.Run("buffer", func(b *testing.B) {
		for b.Loop() {
			drivertest.Must(d.NewBuffer("b", 1<<20, false))(b).Release()
		}
	})
	b.Run("bind group", func(b *testing.B) {
		for b.Loop() {
			drivertest.Must(d.NewBindGroup("g", p, uniform, []driver.Binding{{Buffer: x, Size: 512}, {Buffer: x, Size: 512}}))(b)
		}
	})
	b.Run("pipeline", func(b *testing.B) {
		for i := 2.0; b.Loop(); i++ {
			drivertest.Must(drivertest.Compile(d, drivertest.Scale(i)))(b)
		}
	})
}

// BenchmarkTransfer measures the speed of reads, and of writes until the device has
// them.
func BenchmarkTransfer(b *testing.B) {
	d := open(b)
	for _, size := range []int{64 << 10, 1 << 20, 64 << 20} {
		data := make([]byte, size)
		buf := drivertest.Must(d.NewBuffer("b", int64(size), false))(b)
		b.Run(fmt.Sprintf("write/%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				require.NoError(b, d.Write(buf, 0, data))
				require.NoError(b, d.settle(context.Background()))
			}
		})
		b.Run(fmt.Sprintf("read/%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				require.NoError(b, d.Read(context.Background(), data, buf, 0))
			}
		})
		buf.Release()
	}
}
