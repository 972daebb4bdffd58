package engine

import (
	"tessera/gpu"
	"tessera/tiling"
	"tessera/wgsl"
)

const offloads = false

// A page has causal memory and weights on the device.
type (
	away     struct{}
	held     struct{}
	lived    struct{}
	hostedAs struct{}
	transfer struct{}
	turn     struct{}
	schedule struct{}
)

func (*Graph) park(int, Value)                                  {}
func (*Graph) unpark(int, Value, int) Value                     { return Value{} }
func (*memoryBank) free()                                       {}
func (*emitter) heavy(*node, int, *wgsl.Tensor) bool            { return false }
func (*emitter) off(*timeline, string)                          {}
func (*emitter) comes(*timeline, int, gpu.View)                 {}
func (*emitter) goes(*timeline, int, gpu.View)                  {}
func (*timeline) leaves(*emitter, string)                       {}
func (*timeline) stays(*emitter, string)                        {}
func (*schedule) until(int, *use) int                           { return 0 }
func (*schedule) add(int, *use)                                 {}
func largestFirst([]*use)                                       {}
func (*emitter) turned()                                        {}
func (*Options) offload() error                                 { return nil }
func (*planner) hosted(*Plan) error                             { return nil }
func (*emitter) lived(int) lived                                { return lived{} }
func (*recordings) stream()                                     {}
func (*held) hold([]*gpu.Buffer)                                {}
func (*held) lack(map[*gpu.Buffer]bool)                         {}
func (*held) take(*upload, []*gpu.Buffer) error                 { return nil }
func (*held) some() bool                                        { return false }
func (r *recording) between(map[*gpu.Buffer]*gpu.Buffer) []Step { return []Step{&runBatch{r.batch}} }

// remember has n frames of the layer's memory.
func (e *emitter) remember(l *timeline, layer string, n int) {
	l.memory = e.bank.of(layer, n, e.x, e.b.of, e.b.lo)
}

// ways are those that there are: portions nested ever deeper.
func (p *planner) ways() []way {
	var ways []way
	for depth := range p.deepest() + 1 {
		ways = append(ways, way{depth: depth})
	}
	return ways
}

func (p *planner) least(tile tiling.Size) (*Plan, error) {
	return p.portioned(tile, way{depth: p.deepest()})
}
