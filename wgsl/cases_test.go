package wgsl

import (
	flags "flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/testenv"
	"tessera/wgsl/ref"
)

// Bounds of NMSE by storage: the error of rounding each output once, with room for
// f32's own sums. A driver may round halves towards zero, which costs (2^-10)^2/3
// relative to the square of a mantissa in [1, 2): 1.4e-7 on average.
const (
	boundF32 = 1e-10 // norms, blends: few operations a number
	boundSum = 1e-9  // long sums
	boundF16 = 1e-6
)

// bound is b for f32 and boundF16 for halves.
func bound(e Elem, b float64) float64 {
	if e == F32 {
		return b
	}
	return boundF16
}

// format returns gputest's format of an Elem.
func format(e Elem) gputest.Format {
	if e == F32 {
		return gputest.Float32
	}
	return gputest.Float16
}

// eachKernel runs a subtest for every storage and kernel of an operation, and skips
// kernels that the device can't run. The plain kernel's subtest has no kernel in its
// name. Drivers for processors compile for minutes, so TABLES selects what runs:
//
//	usual    the kernel that the device takes, in every storage
//	(unset)  also the others in packed halves, and the plain one in f32
//	all      every kernel in every storage
//	rest     what usual with -short leaves out of the usual kernel; as many cases of each
//	         other kernel, in every storage, as -short has; and all in packed halves of
//	         those that need such a device, since SwiftShader cannot run them
//	unrolled the kernels of every adapter and of cards, as DXC compiles them
//	NAME     the kernels of that name; halves run as on a card, which they are for
//	OPERATION/NAME ...  these kernels; behind usual, those of them that the device takes
func eachKernel(t *testing.T, operation, name string, dev *gpu.Device, run func(t *testing.T, s *Set)) {
	eachKernelIn(t, []Elem{F32, F16, Packed}, nil, operation, name, dev, run)
}

// eachWeights is eachKernel with weights in f32 and in halves. In a browser, each
// storage has only its own weights: natively, the other combinations run the same text.
func eachWeights(t *testing.T, operation, name string, dev *gpu.Device, run func(t *testing.T, s *Set, weights Elem)) {
	whole, halves := []Elem{F32, F16, Packed}, []Elem{F32, F16, Packed}
	if inBrowser() {
		whole, halves = []Elem{F32}, []Elem{F16, Packed}
	}
	// Models in f16 and packed have weights in halves.
	eachKernelIn(t, whole, []Elem{F16, Packed}, operation, name, dev, func(t *testing.T, s *Set) {
		if s.Elem == Packed {
			testenv.Long(t)
		}
		run(t, s, F32)
	})
	eachKernelIn(t, halves, nil, operation, name+"/half_weights", dev, func(t *testing.T, s *Set) { run(t, s, Packed) })
}

// inBrowser reports whether the test runs in a browser. There only what a page uses is
// tested; native tests cover other adapters, also on the browser's driver.
func inBrowser() bool { return runtime.GOOS == "js" && askedSet() != "all" }

// eachKernelIn is eachKernel for some storages of activations. In those of long, -short
// leaves out the usual kernel.
func eachKernelIn(t *testing.T, storages, long []Elem, operation, name string, dev *gpu.Device, run func(t *testing.T, s *Set)) {
	at := slices.IndexFunc(tables, func(t table) bool { return t.operation == operation })
	require.GreaterOrEqual(t, at, 0, "no table of %s", operation)
	info := dev.Info()
	if strings.HasSuffix(os.Getenv("TABLES"), "f16") {
		info.Type = ""
	}
	if askedSet() == "unrolled" {
		info.Backend, info.Type, info.Subgroups = "d3d12", "", true
	}
	usual := (&Set{info: info, tables: tables}).find(operation, nil).name
	for i, k := range tables[at].kernels {
		for _, e := range storages {
			if k.onlyF16 && e != F16 || !tried(operation, k.name) {
				continue
			}
			full := name + "/" + e.String()
			if i > 0 {
				full += "/" + k.name
			}
			if k.name != usual && !others(i, k, e) {
				continue
			}
			isUsual := k.name == usual
			inShort := short(full, e, i == 0, isUsual) && !(isUsual && slices.Contains(long, e))
			if askedSet() == "rest" && !inRest(k, e, info, isUsual, inShort) || !inShort && testenv.Short(t) {
				continue
			}
			t.Run(full, func(t *testing.T) {
				if e == F16 && !info.F16 {
					t.Skipf("%s has no shader-f16", info.Name)
				}
				if k.needs != nil && !k.needs(info) {
					t.Skipf("%s can't run kernel %s", info.Name, k.name)
				}
				s, err := newSet(e, info, Choices{operation: k.name}, forAll(at, i))
				require.NoError(t, err)
				run(t, s)
			})
		}
	}
}

// asked splits TABLES into the name of a set, "" if it names kernels only, and the
// kernels that it is limited to.
func asked() (set string, names []string) {
	words := strings.Fields(os.Getenv("TABLES"))
	if len(words) > 0 && slices.Contains([]string{"usual", "all", "rest", "unrolled"}, words[0]) {
		return words[0], words[1:]
	}
	return "", words
}

func askedSet() string {
	set, _ := asked()
	return set
}

// tried reports whether TABLES includes a kernel, if it names kernels.
func tried(operation, name string) bool {
	_, names := asked()
	return len(names) == 0 || slices.Contains(names, name) || slices.Contains(names, operation+"/"+name)
}

// others reports whether a kernel other than the device's usual one, number i of its
// table, runs in a storage.
func others(i int, k kernel, e Elem) bool {
	switch askedSet() {
	case "all", "rest":
		return true
	case "usual":
		return false
	case "unrolled":
		return !k.onlyF16 && !strings.HasPrefix(k.shaders[0].file, "processors/")
	}
	if inBrowser() && i > 0 {
		return false
	}
	return k.onlyF16 || e == Packed || e == F32 && i == 0
}

// short reports whether -short runs a case. It runs the device's usual kernel through
// all cases in f32 and a third of them in each other storage, the plain kernel through
// a third, and others through an eighth. Hashes of names select them, so that each
// storage and each kernel has different cases.
func short(name string, e Elem, plain, usual bool) bool {
	share := uint32(8)
	switch {
	case usual && e == F32:
		share = 1
	case usual, plain:
		share = 3
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return h.Sum32()%share == 0
}

// inRest reports whether TABLES=rest runs a case. Of the usual kernel, make test has run
// those that are in -short.
func inRest(k kernel, e Elem, info gpu.Info, usual, inShort bool) bool {
	if usual {
		return !inShort
	}
	return inShort || e == Packed && k.needs != nil && k.needs(info)
}

// TABLES=usual with -short and TABLES=rest together run each case of the usual kernel
// once, and in packed halves those of each kernel that needs a device like this one.
func TestRestCompletesUsual(t *testing.T) {
	if runtime.GOOS == "js" {
		t.Skip("a browser runs all cases at once")
	}
	if flags.Lookup("test.skip").Value.String() != "" {
		t.Skip("-skip leaves out some of the cases")
	}
	dev := gputest.Open(t)
	info := dev.Info()
	defer flags.Set("test.short", strconv.FormatBool(testing.Short()))
	type part struct {
		operation, kernel string
		e, weights        Elem
	}
	const cases = 12
	ran := map[part]int{}
	for _, run := range []struct{ set, short string }{{"usual", "true"}, {"rest", "false"}} {
		t.Setenv("TABLES", run.set)
		require.NoError(t, flags.Set("test.short", run.short))
		for _, operation := range []string{"conv3d", "pointwise"} {
			for i := range cases {
				eachWeights(t, operation, fmt.Sprint(operation, i), dev, func(t *testing.T, s *Set, weights Elem) {
					ran[part{operation, s.find(operation, nil).name, s.Elem, weights}]++
				})
			}
		}
	}
	for _, table := range tables {
		if table.operation != "conv3d" && table.operation != "pointwise" {
			continue
		}
		usual := (&Set{info: info, tables: tables}).find(table.operation, nil).name
		for _, k := range table.kernels {
			for _, e := range []Elem{F32, F16, Packed} {
				if e == F16 && !info.F16 || k.name != usual && (e != Packed || k.onlyF16 || k.needs == nil || !k.needs(info)) {
					continue
				}
				for _, weights := range []Elem{F32, Packed} {
					p := part{table.operation, k.name, e, weights}
					require.Equal(t, cases, ran[p], "%v", p)
				}
			}
		}
	}
}

// otherKernels skips a test of kernels that the device does not use, if TABLES=usual
// leaves them to another driver.
func otherKernels(t *testing.T) {
	if askedSet() == "usual" {
		testenv.Long(t)
		t.Skip("TABLES=usual: another driver runs these kernels")
	}
}

// forAll returns the tables with one kernel that takes all weights.
func forAll(at, kernel int) []table {
	all := slices.Clone(tables)
	all[at].kernels = slices.Clone(all[at].kernels)
	all[at].kernels[kernel].takes = nil
	return all
}

// plain returns the set of an adapter without special features.
func plain(t testing.TB, e Elem) *Set {
	s, err := NewSet(e, gpu.Info{}, nil)
	require.NoError(t, err)
	return s
}

// random returns n numbers of N(mean, deviation), always equal for a seed.
func random(seed uint64, n int, mean, deviation float64) []float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(mean + deviation*r.NormFloat64())
	}
	return out
}

// integers returns n whole numbers in [low, high], always equal for a seed.
func integers(seed uint64, n, low, high int) []float32 {
	r := rand.New(rand.NewPCG(seed, 2))
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(low + r.IntN(high-low+1))
	}
	return out
}

// padded converts [n, C] to [n, Pad4(C)] with zeros.
func padded[E float32 | float64](data []E, C int) []E {
	out := make([]E, len(data)/C*Pad4(C))
	for i, v := range data {
		out[i/C*Pad4(C)+i%C] = v
	}
	return out
}

// wide converts data for the reference.
func wide(data []float32) []float64 {
	out := make([]float64, len(data))
	for i, v := range data {
		out[i] = float64(v)
	}
	return out
}

// activation returns data [T, H, W, C] as an array with a frame of guard on both sides,
// and its tensor; its frames start at frame 1.
func activation(label string, e Elem, T, H, W, C int, data []float32) (gputest.Array, Tensor) {
	a := gputest.Array{Label: label, Format: format(e), Guard: H * W * Pad4(C)}
	if data == nil {
		a.Len = T * H * W * Pad4(C)
	} else {
		a.Data = padded(data, C)
	}
	return a, Tensor{Elem: e, T: T + 2, H: H, W: W, C: C}
}

// in returns the tensor stored in a buffer.
func (x Tensor) in(b *gpu.Buffer) Tensor {
	x.Buffer = b
	return x
}

// rectified returns ReLU of the expected numbers. In halves, a number just below zero
// may be computed as one just above it, so it is expected as the smallest positive
// number: exact zeros must stay zeros. Whole numbers are computed exactly.
func rectified(want []float64) []float64 {
	sum := 0.0
	for _, v := range want {
		sum += v * v
	}
	near := 4 * math.Sqrt(boundF16*sum/float64(len(want)))
	y := ref.ReLU(want)
	for i, v := range want {
		if v < 0 && v > -near && v != math.Trunc(v) {
			y[i] = math.SmallestNonzeroFloat64
		}
	}
	return y
}
