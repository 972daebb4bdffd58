package gputest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
)

// Case is one run of an operation, compared with a reference.
type Case struct {
	Op      string
	In      []Array // read only
	Out     Array   // if it has Data, the operation adds to it
	Scratch []int64 // bytes of each scratch buffer

	// Record records the operation once. The buffers hold In, Out and Scratch with
	// their guards. A buffer without guards may be bound as a whole.
	Record func(b *gpu.Batch, in, scratch []*gpu.Buffer, out *gpu.Buffer)

	Want  []float64 // expected content of Out, without guards
	Bound float64   // of NMSE; 0 demands exact equality
}

// run holds the buffers of one of the case's two runs.
type run struct {
	scratch []*gpu.Buffer
	out     *gpu.Buffer
}

// Run records the case twice in one batch, each run with its own NaN-filled output and
// scratch, and with NaN in workgroup memory. It checks that the runs agree bit for bit, that inputs and guards are
// untouched, and that the output matches Want. With TESSERA_CASES=FOLDER it instead
// writes the case there, for tools/wgpu/replay.py.
func (c *Case) Run(t *testing.T, dev *gpu.Device) {
	t.Helper()
	if folder := casesFolder(); folder != "" {
		require.NoError(t, c.export(t, folder), "gputest: TESSERA_CASES")
		return
	}
	if err := c.run(dev); err != nil {
		t.Fatalf("%s: %s on %s: %v\n\trepeat: go test %s -run '%s'", c.Op, t.Name(), dev.Info().Name, err, packagePath(), pattern(t.Name()))
	}
}

// record creates the buffers and records the case twice.
func (c *Case) record() (in []*gpu.Buffer, batch *gpu.Batch, runs [2]run) {
	for i := range c.In {
		in = append(in, &gpu.Buffer{Label: c.In[i].Label, Size: int64(c.In[i].bytes())})
	}
	batch = &gpu.Batch{Label: c.Op}
	for i := range runs {
		r := run{out: &gpu.Buffer{Label: c.Out.Label, Size: int64(c.Out.bytes())}}
		for _, size := range c.Scratch {
			r.scratch = append(r.scratch, &gpu.Buffer{Label: "scratch", Size: size})
		}
		c.Record(batch, in, r.scratch, r.out)
		runs[i] = r
	}
	return in, batch, runs
}

func (c *Case) run(dev *gpu.Device) error {
	in, batch, runs := c.record()
	commands, poison := WithPoison(dev, batch.Commands)
	batch.Commands = commands
	all := append(slices.Clone(in), poison)
	for _, r := range runs {
		all = append(append(all, r.scratch...), r.out)
	}
	defer dev.Free(all...)
	if err := dev.Alloc(all...); err != nil {
		return err
	}
	if err := c.fill(dev, in, runs); err != nil {
		return err
	}
	if err := dev.Submit(context.Background(), batch); err != nil {
		return err
	}
	if err := c.checkInputs(dev, in); err != nil {
		return err
	}
	return c.checkOutputs(dev, runs)
}

// fill writes inputs, outputs and scratch.
func (c *Case) fill(dev *gpu.Device, in []*gpu.Buffer, runs [2]run) error {
	for i := range in {
		if err := dev.Write(in[i].All(), c.In[i].encode()); err != nil {
			return err
		}
	}
	for _, r := range runs {
		for _, s := range r.scratch {
			poison := make([]byte, s.Size)
			fill(poison, poisonBits)
			if err := dev.Write(s.All(), poison); err != nil {
				return err
			}
		}
		if err := dev.Write(r.out.All(), c.Out.encode()); err != nil {
			return err
		}
	}
	return nil
}

func read(dev *gpu.Device, b *gpu.Buffer) ([]byte, error) {
	data := make([]byte, b.Size)
	return data, dev.Read(context.Background(), data, b.All())
}

func (c *Case) checkInputs(dev *gpu.Device, in []*gpu.Buffer) error {
	for i := range in {
		data, err := read(dev, in[i])
		if err != nil {
			return err
		}
		if at := firstDifference(data, c.In[i].encode()); at >= 0 {
			return fmt.Errorf("input %s changed at byte %d", c.In[i].Label, at)
		}
	}
	return nil
}

func (c *Case) checkOutputs(dev *gpu.Device, runs [2]run) error {
	var contents [2][]byte
	for i, r := range runs {
		data, err := read(dev, r.out)
		if err != nil {
			return err
		}
		clean := make([]byte, c.Out.Guard*c.Out.Format.Bytes())
		fill(clean, guardBits)
		inner, before, after := c.Out.guarded(data)
		if !bytes.Equal(before, clean) || !bytes.Equal(after, clean) {
			return fmt.Errorf("run %d wrote outside of %s", i+1, c.Out.Label)
		}
		contents[i] = inner
	}
	got := decode(contents[0], c.Out.Format)
	if err := Compare(got, c.Want, c.Bound); err != nil {
		return err
	}
	if at := firstDifference(contents[0], contents[1]); at >= 0 {
		i := at / c.Out.Format.Bytes()
		return fmt.Errorf("two runs differ: first at index %d: %g and %g", i, got[i], decode(contents[1], c.Out.Format)[i])
	}
	return nil
}

// firstDifference returns the first index at which a and b differ, or -1.
func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) != len(b) {
		return min(len(a), len(b))
	}
	return -1
}

// pattern returns the -run argument for a test's full name.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = "^" + parts[i] + "$"
	}
	return strings.Join(parts, "/")
}

// packagePath returns the tested package, relative to the module's root.
func packagePath() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			rel, _ := filepath.Rel(root, dir)
			return "./" + filepath.ToSlash(rel)
		}
		if root == filepath.Dir(root) {
			return "."
		}
	}
}
