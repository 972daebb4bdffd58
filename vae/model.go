// Package vae encodes video to latents and decodes latents to video with the
// causal 3D VAEs of video generators, from their original checkpoints. Start
// at Open, Model.Encode and Model.Decode; Inspect needs no device.
//
// A model is a tree of layers named as in the checkpoint. Forward on a layer
// records commands and never touches a device, so a plan can be made, counted
// and printed without one, and is made once for all slices of all tiles of one
// shape.
//
// A Model is not safe for concurrent use.
package vae

import (
	"context"
	"fmt"
	"io"

	"tessera/format/pth"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/wgsl"
)

// Precision is how activations are stored; sums are f32 always.
type Precision string

const (
	Auto Precision = "auto" // F16 on a GPU with shader-f16, else F32
	F32  Precision = "f32"
	F16  Precision = "f16" // packed in pairs where the adapter has no shader-f16
)

// Elem is the storage that a precision means on an adapter.
func (p Precision) Elem(a gpu.Info) (wgsl.Elem, error) {
	half := wgsl.Packed
	if a.F16 {
		half = wgsl.F16
	}
	switch p {
	case F32:
		return wgsl.F32, nil
	case F16:
		return half, nil
	case Auto, "":
		if a.F16 && a.Type != "cpu" {
			return wgsl.F16, nil
		}
		return wgsl.F32, nil
	}
	return 0, fmt.Errorf("vae: precision %q, expected auto, f32 or f16", string(p))
}

// Settings are how a checkpoint is opened.
type Settings struct {
	Precision Precision
	Force     bool // take a file that ErrFlat is said of
}

// Model is an open checkpoint on a device.
type Model struct {
	Config Config
	Elem   wgsl.Elem // of activations

	dev      *gpu.Device
	info     gpu.Info
	limits   gpu.Limits
	file     checkpoint
	tensors  tensors // of the file
	loader   *loader
	set      *wgsl.Set // of activations
	plain    *wgsl.Set // of f32, which blended frames are
	networks map[string]*network
	uploaded map[string]bool
}

// Inspect reads a checkpoint's header, recognises the model and checks every
// tensor, without a device. What the model plans is for an adapter like a, of
// which Limits, F16, Type and Memory count; it cannot run.
func Inspect(path string, a gpu.Info, o Settings) (*Model, error) {
	f, err := openCheckpoint(path)
	m, err := inspect(f, err, a, o)
	if err == nil && m.Config.Family == Wan21 {
		m.Config.named(path, qwenConfig(path))
	}
	return m, err
}

// InspectReader is Inspect of the size bytes behind r; name stands for them in
// errors. r stays in use until Close, which does not close it.
func InspectReader(r io.ReaderAt, size int64, name string, a gpu.Info, o Settings) (*Model, error) {
	f, err := readCheckpoint(r, size, name)
	return inspect(f, err, a, o)
}

// inspect takes over f, of whose opening err came.
func inspect(f checkpoint, err error, a gpu.Info, o Settings) (*Model, error) {
	if err != nil {
		return nil, badModel{fmt.Errorf("vae: %w", err)}
	}
	elem, err := o.Precision.Elem(a)
	if err != nil {
		f.Close()
		return nil, err
	}
	m, err := build(f, elem, o.Force)
	if err != nil {
		f.Close()
		return nil, badModel{err}
	}
	m.info, m.limits = a, a.Limits
	return m, nil
}

// Open is Inspect with a device to run on. Weights go to it when a direction is
// first used. The caller closes the model before the device.
func Open(dev *gpu.Device, path string, o Settings) (*Model, error) {
	m, err := Inspect(path, dev.Info(), o)
	return m.on(dev), err
}

// OpenReader is InspectReader with a device to run on, as Open is Inspect.
func OpenReader(dev *gpu.Device, r io.ReaderAt, size int64, name string, o Settings) (*Model, error) {
	m, err := InspectReader(r, size, name, dev.Info(), o)
	return m.on(dev), err
}

func (m *Model) on(dev *gpu.Device) *Model {
	if m != nil {
		m.dev = dev
	}
	return m
}

// build makes the layers for a file and checks its tensors.
func build(f checkpoint, elem wgsl.Elem, force bool) (*Model, error) {
	c, have, err := recognise(f)
	if err != nil {
		return nil, err
	}
	m := newModel(c, elem, weightElem(f, elem))
	m.file, m.tensors = f, have
	if err := m.loader.check(have); err != nil {
		return nil, err
	}
	if c.Family != SeedVR2 && !force {
		return m, checkQuant(have)
	}
	return m, nil
}

// newModel makes the layers of a configuration.
func newModel(c Config, elem, weights wgsl.Elem) *Model {
	l := newLoader(weights, c.Groups)
	m := &Model{
		Config: c, Elem: elem, loader: l, set: wgsl.NewSet(elem), plain: wgsl.NewSet(wgsl.F32),
		uploaded: map[string]bool{},
	}
	if c.Family == SeedVR2 {
		m.networks = map[string]*network{"encoder": newSeedVR2Encoder(l, c), "decoder": newSeedVR2Decoder(l, c)}
	} else {
		n := &wanNames{nested: c.Family == Wan22, blocks: c.Blocks}
		m.networks = map[string]*network{"encoder": newWanEncoder(l, c, n), "decoder": newWanDecoder(l, c, n)}
	}
	return m
}

// weightElem stores weights as halves where the checkpoint does, which is
// exact, and where the activations are halves.
func weightElem(f checkpoint, elem wgsl.Elem) wgsl.Elem {
	if elem != wgsl.F32 {
		return wgsl.Packed
	}
	for _, name := range f.Names() {
		t, _ := f.Tensor(name)
		if len(t.Shape) > 1 && t.DType != safetensors.F16 {
			return wgsl.F32
		}
	}
	return wgsl.Packed
}

// network is the one of a direction, with its weights on the device.
func (m *Model) network(half string) (*network, error) {
	return m.networks[half], m.load(context.Background(), half, nil)
}

// load puts the weights of a direction on the device, where they are not yet.
func (m *Model) load(ctx context.Context, half string, told func(done, total int64)) error {
	if m.uploaded[half] {
		return nil
	}
	src := &source{tensors: m.tensors}
	if err := m.loader.upload(ctx, m.dev, half, src, told); err != nil {
		m.release(half)
		return err
	}
	m.uploaded[half] = true
	return nil
}

func (m *Model) release(half string) {
	m.dev.Free(m.loader.buffers(half)...)
	m.uploaded[half] = false
}

// Unload takes the weights off the device. The next job loads them again. With
// none there the device is left alone.
func (m *Model) Unload() {
	for half, there := range m.uploaded {
		if there {
			m.release(half)
		}
	}
}

// Close releases the weights and the file.
func (m *Model) Close() error {
	m.Unload()
	return m.file.Close()
}

// Summary is what a checkpoint holds.
type Summary struct {
	File       string
	Format     string // "safetensors" or "pth"
	Bytes      int64
	Tensors    int
	Parameters int64
	DTypes     map[string]int // tensors of each
	Metadata   map[string]string
}

// Summary counts what the file holds.
func (m *Model) Summary() Summary {
	s := Summary{File: m.file.Name(), Format: "safetensors", Bytes: m.file.Size(), DTypes: map[string]int{}, Metadata: m.file.Metadata()}
	if _, torch := m.file.(*pth.File); torch {
		s.Format = "pth"
	}
	for _, name := range m.file.Names() {
		t, _ := m.file.Tensor(name)
		s.Tensors++
		s.Parameters += int64(t.Elements())
		s.DTypes[string(t.DType)]++
	}
	return s
}

// kernels are those for a tensor stored as elem: kept, so that a frame's batch
// names the programs of the one before.
func (m *Model) kernels(elem wgsl.Elem) *wgsl.Set {
	if elem == m.set.Elem {
		return m.set
	}
	return m.plain
}
