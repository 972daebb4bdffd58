// Command bench times a convolution against onnxruntime's WebGPU provider, on
// the same adapter and in turns, so that whatever else the machine does falls
// on both. tools/bench.sh sets it up; it prints a table in markdown.
package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"tessera/gpu"
)

// shape is a 3x3x3 convolution of T frames of HxW with C channels in and out,
// zeros around in space and time.
type shape struct{ C, T, H, W int }

var shapes = []shape{{32, 8, 32, 32}, {128, 4, 32, 32}}

func (s shape) String() string {
	return fmt.Sprintf("%d→%d on %d×%d×%d", s.C, s.C, s.T, s.H, s.W)
}

func (s shape) values() int    { return s.C * s.T * s.H * s.W }
func (s shape) weights() int   { return s.C * s.C * 27 }
func (s shape) flops() float64 { return 2 * float64(s.values()) * float64(s.C*27) }

func main() {
	python := flag.String("python", "python3", "interpreter that has the peer")
	rounds := flag.Int("rounds", 12, "turns of each side")
	flag.Parse()
	if err := run(*python, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(python string, rounds int) error {
	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	if err != nil {
		return err
	}
	defer dev.Close()
	peer, err := startPeer(python)
	if err != nil {
		return err
	}
	defer peer.close()
	fmt.Printf("%s\n\n", strings.Join(machine(dev.Info(), peer.version), "  \n"))
	fmt.Println("| conv3d 3×3×3 | onnxruntime, best ms | Tessera, best ms | ratio | ratio, median of the turns | Tessera, GFLOP/s | difference, NMSE |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, s := range shapes {
		if err := compare(dev, peer, s, rounds); err != nil {
			return err
		}
	}
	return nil
}

// compare prints a line of the table.
func compare(dev *gpu.Device, peer *peer, s shape, rounds int) error {
	r := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- the same numbers every time
	x, weight, bias := normal(r, s.values(), 1), normal(r, s.weights(), 0.05), normal(r, s.C, 1)
	ours, err := newConv(dev, s, x, weight, bias)
	if err != nil {
		return err
	}
	defer ours.close()
	theirs, err := peer.open(s, x, weight, bias)
	if err != nil {
		return err
	}
	got, err := ours.output()
	if err != nil {
		return err
	}
	e := nmse(got, theirs)
	if !(e <= 1e-9) {
		return fmt.Errorf("%v: the two sides' results differ by NMSE %g", s, e)
	}
	const runs = 4 // in a turn
	var a, b, ratios []time.Duration
	for range rounds {
		p, err := peer.best(runs)
		if err != nil {
			return err
		}
		o, err := ours.best(3 * runs)
		if err != nil {
			return err
		}
		a, b, ratios = append(a, p), append(b, o), append(ratios, time.Duration(1000*float64(p)/float64(o)))
	}
	slices.Sort(ratios)
	best, peerBest := slices.Min(b), slices.Min(a)
	fmt.Printf("| %v | %.1f | %.1f | **%.1f×** | %.1f× | %.1f | %.0e |\n", s, ms(peerBest), ms(best),
		float64(peerBest)/float64(best), float64(ratios[len(ratios)/2])/1000, s.flops()/best.Seconds()/1e9, e)
	return nil
}

func ms(d time.Duration) float64 { return d.Seconds() * 1e3 }

func normal(r *rand.Rand, n int, deviation float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(deviation * r.NormFloat64())
	}
	return v
}

func nmse(got, want []float32) float64 {
	var d, s float64
	for i := range want {
		e := float64(got[i]) - float64(want[i])
		d += e * e
		s += float64(want[i]) * float64(want[i])
	}
	return d / s
}

// machine says what the numbers were measured on.
func machine(a gpu.Info, peer string) []string {
	cpu := runtime.GOARCH
	if info, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(info)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				cpu = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	lines := []string{
		fmt.Sprintf("Adapter: %s, %s, %s", a.Name, a.Driver, a.Backend),
		fmt.Sprintf("Processor: %s, %d cores, %s", cpu, runtime.NumCPU(), runtime.GOOS),
		"Peer: " + peer,
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		lines = append(lines, "Load at the start: "+strings.Join(strings.Fields(string(load))[:3], " "))
	}
	return lines
}
