package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/wgsl"
)

// Halves and floats are decoded as they were stored.
func TestEncode(t *testing.T) {
	v := []float32{0, 1, -2.5, 65504, 0.000061035156}
	for _, elem := range []wgsl.Elem{wgsl.F32, wgsl.F16, wgsl.Packed} {
		b := make([]byte, len(v)*elem.Bytes())
		Encode(b, v, elem)
		got := make([]float32, len(v))
		Decode(got, b, elem)
		require.Equal(t, v, got, "stored as %v", elem)
	}
}
