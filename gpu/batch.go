package gpu

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Cost is the work of one command, counted exactly when it is recorded. The device uses
// it to decide where to cut a long dispatch; without a cost it counts workgroups.
type Cost struct {
	FLOPs int64 // floating-point operations; a multiply-add counts as two
	MACs  int64 // multiply-adds of convolutions and matrix products, included in FLOPs
	Bytes int64 // bytes read and written if every operand moves once
}

// Add adds the cost of n times x.
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
	Groups   [3]uint32 // workgroups along x, y, z; any number, because the device cuts large dispatches; 0 does nothing
	Params   []byte    // encoded by Params, at most 256 bytes
	Bindings []View    // in the order of Program.Storage
	Cost     Cost

	Src, Dst View // copy or clear Dst.Bytes() bytes, a multiple of 4
}

// Batch is a list of commands to run in order. It is plain data: it needs no device,
// and any device may run it any number of times. Each command sees the writes of the
// commands before it.
type Batch struct {
	Label    string
	Commands []Command
}

// Dispatch records one run of p. params is a struct of uint32, int32, float32 and [4]
// of them, in the order of the shader's struct Params; its first field is First.
// Dispatch panics unless the number of bindings is the one that p declares.
func (b *Batch) Dispatch(label string, p *Program, groups [3]uint32, params any, cost Cost, bindings ...View) {
	if len(bindings) != len(p.Storage) {
		panic(fmt.Sprintf("gpu: %s: %s takes %d bindings, got %d", label, p.Label, len(p.Storage), len(bindings)))
	}
	b.Commands = append(b.Commands, Command{
		Label: label, Program: p, Groups: groups, Params: Params(params), Bindings: bindings, Cost: cost,
	})
}

// Copy records a copy of dst.Bytes() bytes from src, which must be at least as long. It
// panics if both are views of one buffer.
func (b *Batch) Copy(label string, dst, src View) {
	if dst.Buffer == src.Buffer {
		panic(fmt.Sprintf("gpu: %s: copy within buffer %q", label, dst.Buffer.Label))
	}
	b.Commands = append(b.Commands, Command{Label: label, Dst: dst, Src: src, Cost: Cost{Bytes: 2 * dst.Bytes()}})
}

// Clear records that dst becomes zeros. Its size is a multiple of 4 bytes.
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

// String lists the label, program, grid and buffers of each command, one command a
// line.
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

// First is the leading field of every Params. The device fills it in, as described at
// Program.
type First struct {
	_ Incomparable
	_ [4]uint32
}

// Incomparable disables == for a large struct that is never compared. The Go compiler
// generates a comparison function for every comparable struct, and each function costs
// the page's engine half a kilobyte in Go's tables.
type Incomparable [0]func()

// Params encodes a struct of uint32, int32, float32 and [4] of them like a WGSL uniform
// struct: little-endian, padded to a multiple of 16 bytes. It panics on other types.
// WGSL aligns a vec4 to 16 bytes, so each [4] must start at a multiple of 16.
func Params(v any) []byte {
	b := appendParams(nil, reflect.ValueOf(v))
	for len(b)%16 != 0 {
		b = append(b, 0)
	}
	return b
}

// appendParams replaces binary.Append for these types, because binary.Append adds 60 KB
// of wasm.
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
