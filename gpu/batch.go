package gpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Cost is what a command does, counted exactly when it is recorded. The device
// cuts long dispatches by it; of a dispatch without one it counts workgroups.
type Cost struct {
	FLOPs int64 // floating-point operations, a multiply-add is two
	MACs  int64 // the multiply-adds among them of convolutions and products
	Bytes int64 // read and written if every operand moved once
}

// Add adds what is done n times.
func (c *Cost) Add(x Cost, n int64) {
	c.FLOPs += n * x.FLOPs
	c.MACs += n * x.MACs
	c.Bytes += n * x.Bytes
}

// Command is one dispatch (Program set), one copy (Program nil) or one clear
// (Program and Src nil).
type Command struct {
	Label    string // the layer it belongs to: "decoder.mid_block.resnets.0.conv1"
	Program  *Program
	Groups   [3]uint32 // workgroups along x, y, z; any number, the device cuts what is too large; 0 does nothing
	Params   []byte    // as Params made it, at most 256 bytes
	Bindings []View    // by Program.Storage
	Cost     Cost

	Src, Dst View // copy or clear Dst.Bytes() bytes, a multiple of 4
}

// Batch is a list of commands to run in order: pure data, which needs no device
// and may be submitted to any, any number of times. Each command sees what those
// before it wrote.
type Batch struct {
	Label    string
	Commands []Command
}

// Dispatch records one run of p. params is a struct of uint32, int32, float32
// and [4] of them, in the order of the shader's struct Params, whose first
// field is First. It panics unless there are as many bindings as p declares.
func (b *Batch) Dispatch(label string, p *Program, groups [3]uint32, params any, cost Cost, bindings ...View) {
	if len(bindings) != len(p.Storage) {
		panic(fmt.Sprintf("gpu: %s: %s takes %d bindings, got %d", label, p.Label, len(p.Storage), len(bindings)))
	}
	b.Commands = append(b.Commands, Command{
		Label: label, Program: p, Groups: groups, Params: Params(params), Bindings: bindings, Cost: cost,
	})
}

// Copy records a copy of dst.Bytes() bytes from src, which is at least as long.
// It panics where both are of one buffer.
func (b *Batch) Copy(label string, dst, src View) {
	if dst.Buffer == src.Buffer {
		panic(fmt.Sprintf("gpu: %s: copy within buffer %q", label, dst.Buffer.Label))
	}
	b.Commands = append(b.Commands, Command{Label: label, Dst: dst, Src: src, Cost: Cost{Bytes: 2 * dst.Bytes()}})
}

// Clear records that dst, of any multiple of 4 bytes, becomes zeros.
func (b *Batch) Clear(label string, dst View) {
	b.Commands = append(b.Commands, Command{Label: label, Dst: dst, Cost: Cost{Bytes: dst.Bytes()}})
}

// Cost sums the commands' costs.
func (b *Batch) Cost() Cost {
	var sum Cost
	for i := range b.Commands {
		sum.Add(b.Commands[i].Cost, 1)
	}
	return sum
}

// String lists label, program, grid and buffers, a line a command.
func (b *Batch) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s: %d commands\n", b.Label, len(b.Commands))
	for i := range b.Commands {
		c := &b.Commands[i]
		if c.Program == nil {
			from := "zeros"
			if c.Src.Buffer != nil {
				from = c.Src.String()
			}
			fmt.Fprintf(&s, "%4d copy %s: %v <- %s\n", i, c.Label, c.Dst, from)
			continue
		}
		fmt.Fprintf(&s, "%4d %s %s %v", i, c.Program.Label, c.Label, c.Groups)
		for _, v := range c.Bindings {
			fmt.Fprintf(&s, " %v", v)
		}
		s.WriteByte('\n')
	}
	return s.String()
}

// String prints label[offset+size].
func (v View) String() string {
	if v.Buffer == nil {
		return "none"
	}
	return fmt.Sprintf("%s[%d+%d]", v.Buffer.Label, v.Offset, v.Bytes())
}

// First is the leading field of every Params; the device fills it in, as
// Program says.
type First struct {
	_ Incomparable
	_ [4]uint32
}

// Incomparable is a field of structs that are large and that nobody compares.
// Each function of the page's engine takes half a kilobyte in Go's tables, and
// the compiler makes one for every struct that could be compared.
type Incomparable [0]func()

// Params lays out a struct of uint32, int32, float32 and [4] of them as WGSL
// does a uniform struct, little-endian, padded to a multiple of 16 bytes. It
// panics on other types. A [4] lies where WGSL has it only if it starts at a
// multiple of 16 bytes.
func Params(v any) []byte {
	b := appendParams(nil, reflect.ValueOf(v))
	for len(b)%16 != 0 {
		b = append(b, 0)
	}
	return b
}

// appendParams is what binary.Append does for these types; that one with all it
// can do besides is 60 KB of wasm.
func appendParams(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Uint32:
		return binary.LittleEndian.AppendUint32(b, uint32(v.Uint()))
	case reflect.Int32:
		return binary.LittleEndian.AppendUint32(b, uint32(v.Int()))
	case reflect.Float32:
		return binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v.Float())))
	case reflect.Array:
		for i := range v.Len() {
			b = appendParams(b, v.Index(i))
		}
		return b
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendParams(b, v.Field(i))
		}
		return b
	}
	panic(fmt.Sprintf("gpu: params hold %v", v.Kind()))
}
