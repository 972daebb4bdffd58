//go:build !js

package wgsl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu/gputest"
)

// Sums computed for a few rows at a time give equal frames.
func TestWinogradInputsInRows(t *testing.T) {
	inRows(t, "conv3d_winograd", winogradCases, []int{2, 4}, func(c convVariant, of int) int64 {
		_, w := c.size()
		return sumsRow(&Tensor{W: w, C: c.C}, of)
	}, func(s *Set, c convVariant, of int) gputest.Case { return winogradCase(s, c, F32, of) })
}

// inRows runs cases with the kernels that have an input transform. It leaves room for
// one row, and for three between one above and one below; row returns the bytes of a
// row, and together the numbers of frames or pixels computed at once.
func inRows(t *testing.T, operation string, cases []convVariant, together []int, row func(c convVariant, of int) int64, record func(s *Set, c convVariant, of int) gputest.Case) {
	dev := gputest.Open(t)
	if !subgroupsOf8(dev.Info()) {
		t.Skipf("%s has no subgroups of eight", dev.Info().Name)
	}
	all, least := transformBytes, transformRows
	transformRows = 1
	defer func() { transformBytes, transformRows = all, least }()
	for _, kernel := range []string{"transformed", "columns"} {
		if kernel == "columns" && !mesaFrom26Of8(dev.Info()) {
			continue
		}
		s, err := NewSet(F32, dev.Info(), Choices{operation: kernel})
		require.NoError(t, err)
		for _, c := range cases {
			t.Run(kernel+"/"+c.name, func(t *testing.T) {
				for _, of := range together {
					if operation == "conv3d_winograd" && c.T%of != 0 {
						continue
					}
					for _, rows := range []int{1, 3} {
						transformBytes = (rows + 2) * int(row(c, of))
						test := record(s, c, of)
						test.Run(t, dev)
					}
				}
			})
		}
	}
}

func TestWinogradOnProcessors(t *testing.T) {
	checkWinograd(t, llvmpipe("Mesa 25.0.7-2 (LLVM 15.0.6) 0.0.1"), "transformed")
	checkWinograd(t, llvmpipe("Mesa 26.2.6 (LLVM 22.1.8) 0.0.1"), "columns")
}
