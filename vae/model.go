// Package vae encodes video to latents and decodes latents to video with the VAEs of
// image and video generators, from their original checkpoints. Start at Open,
// Model.Decode and Model.Encode:
//
//	device, err := gpu.Open(gpu.Options{})
//	...
//	model, err := vae.Open(device, "wan2.1_vae.safetensors", vae.Settings{})
//	...
//	for frame, err := range model.Decode(ctx, latent, vae.DecodeOptions{RGBA8: true}) {
//		...
//	}
//
// Package media reads and writes videos and latents. ExampleModel_Decode and
// ExampleModel_Encode are complete programs. Inspect and Published plan without a device:
// ExampleInspect shows what a decode needs.
//
// A model is a family's description of two networks, each a tree of layers named as in
// the checkpoint. Package engine runs them on clips of any size.
//
// A Model is not safe for concurrent use, and a run must end before the next one starts.
package vae

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"tessera/engine"
	"tessera/engine/runner"
	"tessera/format"
	"tessera/format/pth"
	"tessera/format/safetensors"
	"tessera/gpu"
	"tessera/wgsl"
)

// Precision is the storage of activations; sums are always f32.
type Precision string

const (
	Auto Precision = "auto" // F16 on a GPU with shader-f16, else F32
	F32  Precision = "f32"
	F16  Precision = "f16" // packed in pairs where the adapter has no shader-f16
)

// Elem returns the storage that a precision means on an adapter.
func (p Precision) Elem(a gpu.Info) (wgsl.Elem, error) {
	halves := wgsl.Packed
	if a.F16 {
		halves = wgsl.F16
	}
	switch p {
	case F32:
		return wgsl.F32, nil
	case F16:
		return halves, nil
	case Auto, "":
		if a.F16 && a.Type != "cpu" {
			return wgsl.F16, nil
		}
		return wgsl.F32, nil
	}
	return 0, fmt.Errorf("vae: precision %q, expected auto, f32 or f16", string(p))
}

// Settings are the options for opening a checkpoint.
type Settings struct {
	Precision Precision
	As        string // one of Kinds, for names and shapes that several models share; "": decide by config.json and the file's name
	Force     bool   // accept a file with ErrFlat, or whose weights are zero
	Kernels   KernelSettings
}

// KernelSettings choose how layers are computed. Commands set Choose, so that long jobs
// use the fastest kernels on a device, and NoFold and Winograd if the user sets them.
// Tests and benchmarks set Choices. Otherwise use the zero value.
type KernelSettings struct {
	NoFold   bool         // run layers that enlarge, and each temporal tap, as the file has them, not folded into the convolutions after them
	Winograd *bool        // compute 3x3x3 convolutions by Winograd's F(2,3) or F(4,3) in time, and a picture's by F(4,3) along rows; nil: where that is known to be faster
	Choices  wgsl.Choices // kernels that replace the adapter's default; nil: none
	Choose   Chooser      // replaces Choices when a job is planned on a device; nil, and in a browser: not called
}

// Model is an open checkpoint on a device.
type Model struct {
	Config Config
	Elem   wgsl.Elem // of activations

	family        *family
	dev           *gpu.Device
	store         *runner.Store // of weights on the device
	info          gpu.Info
	file          format.File
	tensors       tensors            // of the file
	randomWeights engine.Tensors     // replace tensors; nil: none
	specs         []spec             // tensors that the networks need
	zeros         map[string]int     // biases that the networks need and the file lacks
	views         map[string]view    // see loader
	doubled       map[string]float32 // see loader
	kernels       engine.Kernels
	weights       wgsl.Elem // of convolutions, as stored
	settings      Settings  // that the model was opened with
	encoder       *way
	decoder       *way
	others        []*Model // see Share
}

// way is one direction of a model, with its network.
type way struct {
	Direction
	net     *engine.Network
	kernels engine.Kernels
	chosen  wgsl.Choices // kernels that KernelSettings.Choose returned for it
}

// Inspect reads a checkpoint's header, identifies the model and checks every tensor,
// without a device. The model plans for an adapter like a, from its Limits, F16, Type and
// Memory; it cannot run. Errors are ErrBadModel, except for an unknown Precision.
func Inspect(path string, a gpu.Info, o Settings) (*Model, error) {
	f, err := format.Open(path)
	if err != nil {
		return nil, &badModel{fmt.Errorf("vae: %w", err)}
	}
	m, err := InspectFile(f, a, o)
	if err != nil {
		f.Close()
	}
	return m, err
}

// InspectFile is Inspect for an open file, whose name is its path. The model's Close
// closes it; after an error the caller must close it.
func InspectFile(f format.File, a gpu.Info, o Settings) (*Model, error) {
	m, err := inspect(f, a, o)
	if err != nil {
		return m, err
	}
	if m.family.named != nil {
		m.family.named(&m.Config, f.Name())
	}
	if o.As != "" {
		return m, nil
	}
	if err := m.Config.identified(f.Name(), f.Size()); err != nil {
		return nil, &badModel{err}
	}
	return m, nil
}

// InspectReader is Inspect for size bytes of r; errors call them name. r stays in use until Close, which does not close it.
func InspectReader(r io.ReaderAt, size int64, name string, a gpu.Info, o Settings) (*Model, error) {
	f, err := format.Read(r, size, name)
	if err != nil {
		return nil, &badModel{fmt.Errorf("vae: %w", err)}
	}
	return inspect(f, a, o)
}

func inspect(f format.File, a gpu.Info, o Settings) (*Model, error) {
	elem, err := o.Precision.Elem(a)
	if err != nil {
		return nil, err
	}
	m, err := build(f, elem, a, o)
	if err != nil {
		return nil, &badModel{ofPart(f.Name(), err)}
	}
	return m, nil
}

// ofPart adds to an error about one of a checkpoint's several files which file to open
// instead.
func ofPart(path string, err error) error {
	index, n, beside := format.IndexOf(path)
	if index == "" {
		return err
	}
	where := "is missing"
	if beside {
		where = "lies beside it"
	}
	return &explained{err, fmt.Sprintf("vae: %s: is one of %d files of a checkpoint, expected their index %s, which %s", path, n, index, where)}
}

// Published is Inspect for a published checkpoint without its file. The name is a
// family's, a model's or one of format/known's, in any spelling. Published assumes f16
// weights.
func Published(name string, a gpu.Info, o Settings) (*Model, error) {
	fam, c := publishedAs(name)
	if fam == nil {
		return nil, fmt.Errorf("vae: %w: %.80q, expected %s", ErrUnknownModel, name, strings.Join(Families(), ", "))
	}
	elem, err := o.Precision.Elem(a)
	if err != nil {
		return nil, err
	}
	return newModel(fam, c, elem, wgsl.Packed, a, o)
}

// IsPublished reports whether Published knows a name.
func IsPublished(name string) bool {
	fam, _ := publishedAs(name)
	return fam != nil
}

// Open is Inspect with a device to run on. Weights are uploaded when a direction
// is first used. The caller closes the model before the device.
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
		m.dev, m.store = dev, runner.NewStore(dev)
	}
	return m
}

// build builds the networks for a file and checks its tensors.
func build(f format.File, elem wgsl.Elem, a gpu.Info, o Settings) (*Model, error) {
	fam, c, have, err := recognise(f)
	if err == nil {
		c, err = c.As(o.As)
	}
	if err != nil {
		return nil, err
	}
	m, err := newModel(fam, c, elem, weightElem(have.file, elem), a, o)
	if err != nil {
		return nil, err
	}
	m.file, m.tensors = f, have
	if err := checkTensors(m.specs, have, m.spare(), fam.ignored); err != nil {
		return nil, err
	}
	if fam.usable != nil && !o.Force {
		return m, fam.usable(have)
	}
	return m, nil
}

// newModel builds the networks of a configuration.
func newModel(fam *family, c Config, elem, weights wgsl.Elem, a gpu.Info, o Settings) (*Model, error) {
	m := &Model{Config: c, Elem: elem, family: fam, info: a, weights: weights, settings: o, zeros: map[string]int{}, views: map[string]view{}, doubled: map[string]float32{}}
	var err error
	choices := m.shortened(o.Kernels.Choices)
	if m.kernels.Activations, err = wgsl.NewSet(elem, a, choices); err != nil {
		return nil, fmt.Errorf("vae: %w", err)
	}
	if m.kernels.Plain, err = wgsl.NewSet(wgsl.F32, a, choices); err != nil {
		return nil, fmt.Errorf("vae: %w", err)
	}
	m.kernels.Activations.Leaky = c.Leaky
	m.encoder = &way{Direction: c.Encoding(), kernels: m.kernels}
	m.decoder = &way{Direction: c.Decoding(), kernels: m.kernels}
	encoder, decoder := fam.encoder, fam.decoder
	switch c.Lacks {
	case "encoder":
		encoder = noNetwork
	case "decoder":
		decoder = noNetwork
	}
	m.encoder.net = m.network(encoder, m.kernels, &m.specs)
	m.decoder.net = m.network(decoder, m.kernels, &m.specs)
	return m, nil
}

// noNetwork replaces a network that the file lacks. It is never planned: Config.Can
// refuses it.
func noNetwork(*loader, Config) *engine.Network { return &engine.Network{} }

// network builds a network for kernels and appends the tensors that it needs to specs.
func (m *Model) network(build func(*loader, Config) *engine.Network, k engine.Kernels, specs *[]spec) *engine.Network {
	l := &loader{weights: engine.NewWeights(k.Activations, m.weights), specs: specs, groups: m.Config.Groups, fold: !m.settings.Kernels.NoFold, residual: m.residual(), zeros: m.zeros, views: m.views, doubled: m.doubled}
	net := build(l, m.Config)
	net.Weights, net.Tilings = l.weights, m.family.tilings
	return net
}

// residual returns the family's residual if activations are halves.
func (m *Model) residual() *residual {
	if m.Elem == wgsl.F32 {
		return nil
	}
	return m.family.residual
}

// spare returns tensors that a file may have although the model does not need them: those
// between two networks, if it lacks one of the networks.
func (m *Model) spare() []string {
	if m.Config.Lacks == "" {
		return nil
	}
	return m.family.between
}

// shortened adds KernelSettings.Winograd to choices.
func (m *Model) shortened(choices wgsl.Choices) wgsl.Choices {
	if on := m.settings.Kernels.Winograd; on != nil {
		return choices.Winograd(m.info, *on)
	}
	return choices
}

// weightElem chooses the storage of weights: halves if the checkpoint has halves, which
// is exact, or if the activations are halves.
func weightElem(f format.File, elem wgsl.Elem) wgsl.Elem {
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

// load uploads the weights that a plan reads.
func (m *Model) load(ctx context.Context, p *Plan, told func(done, total int64)) error {
	var from engine.Tensors = &reader{tensors: m.tensors, force: m.settings.Force, residual: m.residual(), zeros: m.zeros, doubled: m.doubled}
	if m.randomWeights != nil {
		from = m.randomWeights
	}
	if len(m.views) > 0 {
		from = &viewed{Tensors: from, views: m.views}
	}
	other := m.encoder.net
	if p.Of(other) {
		other = m.decoder.net
	}
	if p.Bytes()+other.Weights.Bytes() > p.Budget {
		m.store.Unload(other.Weights)
	}
	if err := m.store.Load(ctx, p, from, told); err != nil {
		return m.explain(err)
	}
	return nil
}

// Unload removes the weights from the device. The next job loads them again.
func (m *Model) Unload() {
	if m.store == nil { // made by Inspect
		return
	}
	for _, w := range []*way{m.encoder, m.decoder} {
		m.store.Unload(w.net.Weights)
	}
}

// Close releases the weights and the file.
func (m *Model) Close() error {
	m.Unload()
	if m.file == nil { // made by Published
		return nil
	}
	return m.file.Close()
}

// Summary describes the content of a checkpoint.
type Summary struct {
	File       string
	Format     string // "safetensors" or "pth"
	Bytes      int64
	Tensors    int
	Parameters int64
	DTypes     map[string]int // number of tensors by type
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

// job describes a direction of the model on a clip of the input's size.
func (m *Model) job(w *way, frames, height, width int, independent bool, out engine.Output) *engine.Job {
	return &engine.Job{
		Direction: w.Direction, Network: w.net, Kernels: w.kernels, Adapter: m.info, NoFold: m.settings.Kernels.NoFold,
		Frames: frames, Height: height, Width: width, Independent: independent, Output: out,
	}
}

// plan plans a job, also on the other devices if it has several tiles.
func (m *Model) plan(ctx context.Context, job func(m *Model) *engine.Job, o Options) (*Plan, []*runner.Worker, error) {
	options := o.engine()
	p, err := m.lay(ctx, job, options)
	if err != nil {
		return nil, nil, err
	}
	workers, err := m.helped(ctx, p, job, options)
	return p, workers, err
}

// lay plans a job on the model's device.
func (m *Model) lay(ctx context.Context, job func(m *Model) *engine.Job, options engine.Options) (*Plan, error) {
	p, err := engine.NewPlan(ctx, job(m), options)
	if err == nil {
		p, err = m.chosen(ctx, p, job, options)
	}
	if err != nil {
		return nil, m.explain(err)
	}
	return p, nil
}

// lost reports a device that failed.
func (m *Model) lost(w Watch) func(gpu.Info, error) {
	if w.Lost == nil {
		return nil
	}
	return func(adapter gpu.Info, err error) { w.Lost(adapter, m.explain(err)) }
}

// explain adds advice to an error and replaces package engine's name by this one's,
// because callers need not know the engine.
func (m *Model) explain(err error) error {
	text, own := strings.CutPrefix(err.Error(), "engine: ")
	if !own {
		text, own = strings.CutPrefix(text, "runner: ")
	}
	switch {
	case errors.Is(err, ErrOverflow) && m.Elem != wgsl.F32:
		text = ErrOverflow.Error() + ": activations left the range of f16; precision f32 has room"
	case errors.Is(err, ErrOverflow):
	case errors.Is(err, ErrTiling):
		text = m.Config.Model + ": " + text
	case !own:
		return err
	}
	return &explained{err, "vae: " + text}
}

// explained is an error with another text.
type explained struct {
	error
	text string
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.error }

// Speed measures the device's FLOP/s.
func (m *Model) Speed(ctx context.Context) (float64, error) {
	return runner.Speed(ctx, m.dev, m.kernels)
}

// Speed measures a device's FLOP/s with activations of a precision.
func Speed(ctx context.Context, dev *gpu.Device, p Precision) (float64, error) {
	elem, err := p.Elem(dev.Info())
	if err != nil {
		return 0, err
	}
	set, err := wgsl.NewSet(elem, dev.Info(), nil)
	if err != nil {
		return 0, err
	}
	return runner.Speed(ctx, dev, engine.Kernels{Activations: set})
}
