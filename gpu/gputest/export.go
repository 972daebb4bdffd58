package gputest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tessera/gpu"
)

// exported is a case in the form that tools/wgpu/replay.py reads: NAME.json, with the
// bytes in NAME.bin.
type exported struct {
	Op       string            `json:"op"`
	Test     string            `json:"test"`
	Programs []exportedProgram `json:"programs"`
	Buffers  []exportedBuffer  `json:"buffers"`
	Commands []exportedCommand `json:"commands"` // of both runs, in order
	In       []int             `json:"in"`       // buffers that must stay as they are
	Out      [2]int            `json:"out"`      // buffers of the two runs
	Format   string            `json:"format"`   // of the output: f32, f16 or u32
	Guard    int               `json:"guard"`    // bytes on each side of the output that must stay as they are
	Want     exportedRange     `json:"want"`     // f64
	Bound    float64           `json:"bound"`
}

type exportedProgram struct {
	Label     string             `json:"label"`
	Source    string             `json:"source"`
	Constants map[string]float64 `json:"constants"`
	Writes    []bool             `json:"writes"` // by storage binding
}

// exportedBuffer starts as a range of the bytes; without a range it is poisoned.
type exportedBuffer struct {
	Label string         `json:"label"`
	Size  int64          `json:"size"`
	Data  *exportedRange `json:"data"`
}

// exportedRange is a range of NAME.bin, in bytes.
type exportedRange struct {
	At    int `json:"at"`
	Bytes int `json:"bytes"`
}

// exportedCommand is a dispatch if it has groups, a copy if it has src, and otherwise a
// clear.
type exportedCommand struct {
	Program  int            `json:"program"`
	Groups   *[3]uint32     `json:"groups"` // of the whole dispatch
	Params   []uint32       `json:"params"` // words; the replayer fills in the first four
	Bindings []exportedView `json:"bindings"`
	Src      *exportedView  `json:"src"`
	Dst      *exportedView  `json:"dst"`
}

type exportedView struct {
	Buffer int   `json:"buffer"`
	Offset int64 `json:"offset"`
	Size   int64 `json:"size"`
}

// casesFolder returns the folder where cases are written instead of run; "" means run
// them.
func casesFolder() string { return os.Getenv("TESSERA_CASES") }

// export writes the case into a folder, as the device of this test recorded it.
func (c *Case) export(t *testing.T, folder string) error {
	x := exporter{numbers: map[*gpu.Buffer]int{}, programs: map[*gpu.Program]int{}}
	x.Op, x.Test, x.Bound = c.Op, t.Name(), c.Bound
	x.Format = [...]string{Float32: "f32", Float16: "f16", Uint32: "u32"}[c.Out.Format]
	x.Guard = c.Out.Guard * c.Out.Format.Bytes()
	in, batch, runs := c.record()
	for i, b := range in {
		x.In = append(x.In, x.buffer(b, c.In[i].encode()))
	}
	for i, r := range runs {
		for _, s := range r.scratch {
			x.buffer(s, nil)
		}
		x.Out[i] = x.buffer(r.out, c.Out.encode())
	}
	for i := range batch.Commands {
		x.command(&batch.Commands[i])
	}
	want := []byte{}
	for _, v := range c.Want {
		want = binary.LittleEndian.AppendUint64(want, math.Float64bits(v))
	}
	x.Want = x.keep(want)
	return x.write(folder)
}

// exporter numbers the parts of a case.
type exporter struct {
	exported
	data     []byte
	numbers  map[*gpu.Buffer]int
	programs map[*gpu.Program]int
}

func (x *exporter) keep(b []byte) exportedRange {
	r := exportedRange{len(x.data), len(b)}
	x.data = append(x.data, b...)
	return r
}

func (x *exporter) buffer(b *gpu.Buffer, data []byte) int {
	e := exportedBuffer{Label: b.Label, Size: b.Size}
	if data != nil {
		r := x.keep(data)
		e.Data = &r
	}
	x.numbers[b] = len(x.Buffers)
	x.Buffers = append(x.Buffers, e)
	return x.numbers[b]
}

func (x *exporter) view(v gpu.View) exportedView {
	return exportedView{x.numbers[v.Buffer], v.Offset, v.Bytes()}
}

func (x *exporter) program(p *gpu.Program) int {
	if n, ok := x.programs[p]; ok {
		return n
	}
	e := exportedProgram{Label: p.Label, Source: p.Source, Constants: p.Constants, Writes: []bool{}}
	for _, access := range p.Storage {
		e.Writes = append(e.Writes, access == gpu.ReadWrite)
	}
	x.programs[p] = len(x.Programs)
	x.Programs = append(x.Programs, e)
	return x.programs[p]
}

func (x *exporter) command(c *gpu.Command) {
	e := exportedCommand{}
	if c.Program == nil {
		dst := x.view(c.Dst)
		e.Dst = &dst
		if c.Src.Buffer != nil {
			src := x.view(gpu.View{Buffer: c.Src.Buffer, Offset: c.Src.Offset, Size: c.Dst.Bytes()})
			e.Src = &src
		}
	} else {
		e.Program, e.Groups = x.program(c.Program), &c.Groups
		for i := 0; i < len(c.Params); i += 4 {
			e.Params = append(e.Params, binary.LittleEndian.Uint32(c.Params[i:]))
		}
		for _, v := range c.Bindings {
			e.Bindings = append(e.Bindings, x.view(v))
		}
	}
	x.Commands = append(x.Commands, e)
}

// write writes the two files; a test with several cases writes a pair for each.
func (x *exporter) write(folder string) error {
	name := strings.NewReplacer("/", "_", " ", "_").Replace(x.Test)
	for i := 1; ; i++ {
		path := filepath.Join(folder, fmt.Sprintf("%s.%d", name, i))
		f, err := os.OpenFile(path+".json", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if os.IsExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		defer f.Close()
		if err := json.NewEncoder(f).Encode(x.exported); err != nil {
			return err
		}
		return os.WriteFile(path+".bin", x.data, 0o666)
	}
}
