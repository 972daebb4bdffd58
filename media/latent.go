package media

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"tessera/format"
	"tessera/format/file"
	"tessera/format/safetensors"
	"tessera/latent"
)

// ComfyUI's names in .latent files. ComfyUI multiplies latents of files without the
// version mark, which are older than video models, by Stable Diffusion's 1/0.18215. This
// never applies to a video latent, so it is not done here. Written files have the mark.
const (
	comfyKey     = "latent_tensor"
	comfyVersion = "latent_format_version_0"
	latentKey    = "latent"
)

// ReadLatent reads a latent with the given channels from .safetensors, ComfyUI's .latent,
// .npy, .npz, or .pt and .pth of torch.save. The tensor is named latent, samples,
// latent_tensor or latents, or is the only one, or the only one with a name like
// latents_3x6x8_bfloat16, which musubi-tuner stores beside others. Its shape is one of
//
//	[C,L,h,w]  [B,C,L,h,w]        channels first
//	[L,h,w,C]  [B,L,h,w,C]        channels last
//	[B,L,C,h,w]                   frames first
//	[C,h,w]    [1,C,h,w]  [h,w,C] a single frame
//	[B,C,h,w]  [B,C,1,h,w]        a batch of images, as B frames
//	[L*h*w,C]                     with L, h and w beside it, as LingBot stores it
//
// which the number of channels decides. If several fit, such as [16,h,w,16], channels
// first is preferred, and a batch of 4 dimensions is the last choice: with 16 channels,
// [16,16,h,w] is a clip and [3,16,w,16] has them last. Latent.Notes says so. In ComfyUI's
// files the batch always comes first: [16,16,h,w] is 16 images. 0 channels accepts any
// number, with channels first and [B,C,h,w] as a clip.
//
// Twice the channels are the moments of a latent if the metadata says so, or if the
// tensor is named parameters or moments.
//
// It returns ErrInput for a file that is missing or damaged, has another shape, or
// contains NaN or infinity, and, before reading it, for one that does not fit in memory.
func ReadLatent(path string, channels int) (latent.Latent, error) {
	return ReadLatentWith(path, LatentOptions{Channels: channels})
}

// ReadLatentWith is ReadLatent with options.
func ReadLatentWith(path string, o LatentOptions) (latent.Latent, error) {
	if err := checkLatentName(path); err != nil {
		if is := placeholder(path); is != nil {
			err = badInput(path, is)
		}
		return latent.Latent{}, err
	}
	a, err := openArray(path, latentPicker(o.Key))
	return takeLatent(a, err, path, o, math.MaxInt64)
}

// DecodeLatent is ReadLatentWith for size bytes of r, with the same errors. name gives
// the format by its extension, and appears in errors. It reads at most 2 GiB, because the
// bytes come from others.
func DecodeLatent(r io.ReaderAt, size int64, name string, o LatentOptions) (latent.Latent, error) {
	if err := checkLatentName(name); err != nil {
		return latent.Latent{}, err
	}
	a, err := readArray(r, size, name, latentPicker(o.Key))
	return takeLatent(a, err, name, o, maxSent)
}

// InspectLatent is DecodeLatent without Data: it reads the header only.
func InspectLatent(r io.ReaderAt, size int64, name string, o LatentOptions) (latent.Latent, error) {
	if err := checkLatentName(name); err != nil {
		return latent.Latent{}, err
	}
	a, err := readArray(r, size, name, latentPicker(o.Key))
	return a.inspect(err, name, o)
}

// InspectLatentFile is InspectLatent for an open file of tensors, which stays open.
func InspectLatentFile(f format.File, o LatentOptions) (latent.Latent, error) {
	a, err := tensorArray(f, latentPicker(o.Key))
	return a.inspect(err, f.Name(), o)
}

// inspect describes a without its data. err is the error of opening a.
func (a *array) inspect(err error, name string, o LatentOptions) (l latent.Latent, _ error) {
	if err == nil {
		var y layout
		if y, err = a.told(o); err == nil {
			l := a.latent(y)
			if y.squares {
				l = l.Unpack()
			}
			return l, nil
		}
	}
	return latent.Latent{}, badInput(name, err)
}

// told names a's dimensions, if a job could use such a latent.
func (a *array) told(o LatentOptions) (layout, error) {
	y, err := a.layout(o)
	if err != nil {
		return y, cmp.Or(checkLatentShape(a.shape, a.shape), err)
	}
	y.places = y.squares && placesFirst(a.trainer)
	return y, checkLatentShape(a.shape, y.sides())
}

// placeholder describes what replaces a missing file, nil if nothing does.
func placeholder(path string) error {
	f, _, err := file.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	return format.Placeholder(f, path)
}

func checkLatentName(name string) error {
	switch ext := extension(name); ext {
	case ".safetensors", ".latent", ".npy", ".npz", ".pt", ".pth", ".bin":
		return nil
	default:
		return badInputf(name, "extension %q, expected a latent in .safetensors, .latent, .npy, .npz, .pt, .pth or .bin", ext)
	}
}

// takeLatent reads and closes a, which may have at most most bytes as float32. err is the
// error of opening a.
func takeLatent(a *array, err error, name string, o LatentOptions, most int64) (latent.Latent, error) {
	if err != nil {
		return latent.Latent{}, badInput(name, err)
	}
	defer a.close()
	l, err := readLatent(a, o, most)
	if err != nil {
		return latent.Latent{}, badInput(name, err)
	}
	return l, nil
}

// readLatent reads a's data, whose size was checked against the file's.
func readLatent(a *array, o LatentOptions, most int64) (latent.Latent, error) {
	y, err := a.told(o)
	if err != nil {
		return latent.Latent{}, err
	}
	if err := checkLatentBytes(a.shape, y.moved(), most); err != nil {
		return latent.Latent{}, err
	}
	l := a.latent(y)
	l.Data = make([]float32, y.batch*y.channels*y.frames*y.height*y.width)
	if err := a.readF32(l.Data, 0); err != nil {
		return latent.Latent{}, err
	}
	if i := firstNonFinite(l.Data); i >= 0 {
		return latent.Latent{}, fmt.Errorf("value %d of shape %v is %v, expected a finite number", i, a.shape, l.Data[i])
	}
	if l.Data = y.ordered(l.Data); y.squares {
		l = l.Unpack()
	}
	return l, nil
}

// CheckLatentName returns ErrFormat for a name that WriteLatent does not support, so that
// this shows before anything is read.
func CheckLatentName(path string) error {
	_, _, err := latentSpecs(path, latent.Latent{})
	return err
}

// CheckLatentOutput returns an error if WriteLatent cannot write to path, so that a bad
// name or folder shows before the work. It leaves no file behind.
func CheckLatentOutput(path string) error {
	if err := CheckLatentName(path); err != nil {
		return err
	}
	p, err := createPending(path, 0)
	if err != nil {
		return err
	}
	return p.abort()
}

// WriteLatent writes a latent as float32: to .safetensors as "latent" [C,L,h,w] with its
// metadata, to .latent as ComfyUI's [1,C,L,h,w] with its metadata, to .npy as [C,L,h,w]
// without metadata. At the end it atomically replaces an existing file, or the target of
// a link. It returns an error if the data's length does not match the shape, or for NaN
// or infinity; a full disk is syscall.ENOSPC.
func WriteLatent(path string, l latent.Latent) error {
	if err := checkLatent(l); err != nil {
		return fmt.Errorf("media: %s: %w", path, err)
	}
	specs, size, err := latentSpecs(path, l)
	if err != nil {
		return err
	}
	p, err := createPending(path, size)
	if err != nil {
		return err
	}
	if err := encodeLatent(p, specs, l); err != nil {
		return p.discard(err)
	}
	return p.commit()
}

// EncodeLatent writes to w what WriteLatent would write to a file of that name, with the
// same errors.
func EncodeLatent(w io.Writer, name string, l latent.Latent) error {
	if err := checkLatent(l); err != nil {
		return fmt.Errorf("media: %s: %w", name, err)
	}
	specs, _, err := latentSpecs(name, l)
	if err != nil {
		return err
	}
	return encodeLatent(w, specs, l)
}

// encodeLatent writes .npy if there are no specs.
func encodeLatent(w io.Writer, specs []safetensors.Spec, l latent.Latent) error {
	if specs == nil {
		return writeNPY(w, l)
	}
	return writeSafetensors(w, specs, l)
}

// checkLatent checks a latent's data against its sizes.
func checkLatent(l latent.Latent) error {
	n := l.Clips() * l.Channels * l.Frames * l.Height * l.Width
	if min(l.Channels, l.Frames, l.Height, l.Width) < 1 || n != len(l.Data) {
		return fmt.Errorf("latent of %d values, shape %v needs %d", len(l.Data), l.Shape(), n)
	}
	if i := firstNonFinite(l.Data); i >= 0 {
		return fmt.Errorf("latent value %d of shape %v is %v, expected a finite number", i, l.Shape(), l.Data[i])
	}
	return nil
}

// latentSpecs returns what the format at path stores, nil for .npy, and the size of the
// file.
func latentSpecs(path string, l latent.Latent) (specs []safetensors.Spec, size int64, err error) {
	switch ext := extension(path); ext {
	case ".npy":
		return nil, int64(len(npyPrefix(l.Shape())) + 4*len(l.Data)), nil
	case ".safetensors":
		specs = []safetensors.Spec{{Name: latentKey, DType: safetensors.F32, Shape: l.Shape()}}
	case ".latent":
		specs = []safetensors.Spec{
			{Name: comfyKey, DType: safetensors.F32, Shape: append([]int{1}, l.Shape()...)},
			{Name: comfyVersion, DType: safetensors.F32, Shape: []int{0}},
		}
	default:
		return nil, 0, &formatError{fmt.Sprintf("media: %s: extension %q, expected .safetensors, .latent or .npy for a latent", path, ext)}
	}
	header, data, err := safetensors.Size(specs, l.Meta)
	if err != nil {
		return nil, 0, fmt.Errorf("media: %s: %w", path, err)
	}
	return specs, 8 + header + data, nil
}

func writeNPY(w io.Writer, l latent.Latent) error {
	if _, err := w.Write(npyPrefix(l.Shape())); err != nil {
		return err
	}
	var buffer []byte
	for part := range slices.Chunk(l.Data, 1<<16) {
		buffer = floatBytes(buffer, part)
		if _, err := w.Write(buffer); err != nil {
			return err
		}
	}
	return nil
}

func writeSafetensors(out io.Writer, specs []safetensors.Spec, l latent.Latent) error {
	w, err := safetensors.NewWriter(out, specs, maps.Clone(l.Meta))
	if err != nil {
		return err
	}
	for _, s := range specs {
		if err := w.Begin(s.Name); err != nil {
			return err
		}
		if s.Name == comfyVersion {
			continue
		}
		if err := w.WriteF32(l.Data); err != nil {
			return err
		}
	}
	return w.Close()
}
