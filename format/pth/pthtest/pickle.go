package pthtest

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
)

// Pickle emits protocol 2 instruction by instruction, and stores strings, globals and
// tuples under memo numbers as Python's pickler does.
type Pickle struct {
	out  bytes.Buffer
	memo int
	seen map[string]int // memo number by emitted code
}

// NewPickle starts a pickle.
func NewPickle() *Pickle {
	p := &Pickle{seen: map[string]int{}}
	return p.Raw("\x80\x02")
}

// Bytes returns everything that was emitted.
func (p *Pickle) Bytes() []byte { return p.out.Bytes() }

// Raw emits instructions unchanged.
func (p *Pickle) Raw(code string) *Pickle {
	p.out.WriteString(code)
	return p
}

// Put stores the value on top under the next memo number.
func (p *Pickle) Put() *Pickle {
	p.number('q', 'r', p.memo)
	p.memo++
	return p
}

func (p *Pickle) number(short, long byte, n int) {
	if n < 256 {
		p.out.Write([]byte{short, byte(n)})
		return
	}
	p.out.WriteByte(long)
	p.out.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

// once emits code, or a get of its value if it was emitted before.
func (p *Pickle) once(code string) *Pickle {
	if n, ok := p.seen[code]; ok {
		p.number('h', 'j', n)
		return p
	}
	p.seen[code] = p.memo
	return p.Raw(code).Put()
}

// String pushes text.
func (p *Pickle) String(s string) *Pickle {
	return p.once("X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s)
}

// Global pushes a class or function by its dotted name.
func (p *Pickle) Global(name string) *Pickle {
	dot := strings.LastIndexByte(name, '.')
	return p.once("c" + name[:dot] + "\n" + name[dot+1:] + "\n")
}

// Int pushes a number in pickle's shortest form.
func (p *Pickle) Int(n int) *Pickle {
	switch {
	case n >= 0 && n < 1<<8:
		p.out.Write([]byte{'K', byte(n)})
	case n >= 0 && n < 1<<16:
		p.out.WriteByte('M')
		p.out.Write(binary.LittleEndian.AppendUint16(nil, uint16(n)))
	case n >= math.MinInt32 && n <= math.MaxInt32:
		p.out.WriteByte('J')
		p.out.Write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
	default:
		p.out.WriteString("\x8a\x08")
		p.out.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	}
	return p
}

// Ints pushes a tuple.
func (p *Pickle) Ints(list []int) *Pickle {
	if len(list) == 0 {
		return p.Raw(")")
	}
	if len(list) > 3 {
		p.Raw("(")
	}
	for _, n := range list {
		p.Int(n)
	}
	if len(list) > 3 {
		return p.Raw("t").Put()
	}
	return p.Raw(string([]byte{0x84 + byte(len(list))})).Put()
}

// OrderedDict pushes an empty OrderedDict.
func (p *Pickle) OrderedDict() *Pickle {
	return p.Global("collections.OrderedDict").Raw(")R").Put()
}

// Storage is an entry of the zip under archive/data/.
type Storage struct {
	Class    string // in package torch, such as FloatStorage
	Key      string // the entry's name
	Elements int
}

// Persistent pushes a storage.
func (p *Pickle) Persistent(s Storage) *Pickle {
	p.Raw("(").String("storage").Global("torch." + s.Class).String(s.Key).String("cpu").Int(s.Elements)
	return p.Raw("t").Put().Raw("Q")
}

// Tensor pushes a view of a storage.
func (p *Pickle) Tensor(s Storage, offset int, shape, stride []int) *Pickle {
	p.Global("torch._utils._rebuild_tensor_v2").Raw("(")
	p.Persistent(s).Int(offset).Ints(shape).Ints(stride).Raw("\x89").OrderedDict()
	return p.Raw("t").Put().Raw("R").Put()
}
