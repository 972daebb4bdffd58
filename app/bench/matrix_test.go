package bench

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/x448/float16"

	"tessera/gpu/gputest"
)

// The matrix kernel computes every product that its FLOPs count, exactly, because they
// are of integers.
func TestMatrix(t *testing.T) {
	dev := gputest.Open(t)
	best, err := measureMatrices(context.Background(), dev, time.Millisecond)
	require.NoError(t, err)
	tried := 0
	for _, m := range dev.Info().Matrices {
		if m.In != "f16" || m.Out != "f32" {
			continue
		}
		tried++
		t.Run(fmt.Sprintf("%dx%dx%d", m.M, m.N, m.K), func(t *testing.T) {
			const groups, steps = 3, 5
			k := newMatrix(dev.Info(), m, groups, steps)
			left := func(i, r, c int) float32 { return float32((3*r+5*c+i)%7 - 3) }
			right := func(i, r, c int) float32 { return float32((2*r+7*c+3*i)%5 - 2) }
			halves := func(count, rows, columns int, at func(i, r, c int) float32) (raw []byte) {
				for i := range count * rows * columns {
					v := at(i/(rows*columns), i/columns%rows, i%columns)
					raw = binary.LittleEndian.AppendUint16(raw, float16.Fromfloat32(v).Bits())
				}
				return raw
			}
			require.NoError(t, dev.Alloc(k.buffers...))
			defer dev.Free(k.buffers...)
			require.NoError(t, dev.Write(k.buffers[0].All(), halves(2, m.M, m.K, left)))
			require.NoError(t, dev.Write(k.buffers[1].All(), halves(4, m.K, m.N, right)))
			require.NoError(t, dev.Submit(context.Background(), k.batch))
			raw := make([]byte, k.buffers[2].Size)
			require.NoError(t, dev.Read(context.Background(), raw, k.buffers[2].All()))
			for at := range len(raw) / 4 {
				s, r, c := at/(m.M*m.N)%matrixSums, at/m.N%m.M, at%m.N
				want := float32(0)
				for i := range m.K {
					want += left(s/4, r, i) * right(s%4, i, c)
				}
				require.Equal(t, steps*want, math.Float32frombits(binary.LittleEndian.Uint32(raw[4*at:])), "sum %d, row %d, column %d", s, r, c)
			}
		})
	}
	require.Equal(t, tried > 0, best != nil)
	if tried == 0 {
		t.Skipf("%s has no matrices of halves with sums in f32", dev.Info().Name)
	}
	require.Positive(t, best.GFLOPs)
	t.Logf("%s: %.1f GFLOP/s in matrices of %s", dev.Info().Name, best.GFLOPs, best.Of)
}
