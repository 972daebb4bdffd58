package media

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"tessera/format"
	"tessera/format/file"
	"tessera/format/pth"
	"tessera/format/quote"
	"tessera/format/safetensors"
	"tessera/latent"
)

// framesKey names the tensor of a .safetensors video.
const framesKey = "frames"

// array is the one tensor of interest in an open .npy or safetensors file.
type array struct {
	name  string // tensor name, empty for .npy
	shape []int
	meta  map[string]string // nil for .npy
	comfy bool              // bears ComfyUI's version mark
	batch bool              // its first dimension is a batch, as ComfyUI's always is
	// readF32 fills dst with the elements from start on, row-major.
	readF32 func(dst []float32, start int) error
	close   func() error
}

// openArray opens the file and picks its tensor: .npy has one, of the others it
// is the first of keys that is there, or else the only tensor. Errors don't name
// the path.
func openArray(path string, keys ...string) (*array, error) {
	switch extension(path) {
	case ".npy":
		return openNPYArray(path)
	case ".npz":
		return openNPZArray(path, keys)
	}
	f, err := format.Open(path)
	return pickArray(f, err, keys)
}

// readArray is openArray of the size bytes behind r; name tells the format.
func readArray(r io.ReaderAt, size int64, name string, keys ...string) (*array, error) {
	switch extension(name) {
	case ".npy":
		npy, err := openNPY(r, size)
		if err != nil {
			return nil, err
		}
		return &array{shape: npy.shape, readF32: npy.ReadF32, close: func() error { return nil }}, nil
	case ".npz":
		return readNPZ(r, size, keys)
	}
	f, err := format.Read(r, size, name)
	return pickArray(f, err, keys)
}

// pickArray takes over file, of whose opening err came.
func pickArray(file format.File, err error, keys []string) (*array, error) {
	if ferr, ok := errors.AsType[*safetensors.FormatError](err); ok {
		return nil, ferr.Err
	}
	if ferr, ok := errors.AsType[*pth.FormatError](err); ok {
		return nil, ferr.Err
	}
	if err != nil {
		return nil, err
	}
	a, err := tensorArray(file, keys)
	if err != nil {
		file.Close()
		return nil, err
	}
	return a, nil
}

// tensorArray takes file over, but for an error.
func tensorArray(file format.File, keys []string) (*array, error) {
	t, err := pickTensor(file, keys)
	if err != nil {
		return nil, err
	}
	_, comfy := file.Tensor(comfyVersion)
	return &array{
		name: t.Name, shape: t.Shape, meta: file.Metadata(), comfy: comfy, batch: comfy || t.Name == comfyKey,
		readF32: t.ReadF32, close: file.Close,
	}, nil
}

func openNPYArray(path string) (*array, error) {
	f, size, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	npy, err := openNPY(f, size)
	if err != nil {
		f.Close()
		return nil, err
	}
	return &array{shape: npy.shape, readF32: npy.ReadF32, close: f.Close}, nil
}

// pickTensor finds the first of keys, or the only tensor. Empty tensors, such
// as ComfyUI's version mark, don't count.
func pickTensor(file format.File, keys []string) (safetensors.Tensor, error) {
	var t safetensors.Tensor
	found := false
	for _, key := range keys {
		if t, found = file.Tensor(key); found {
			break
		}
	}
	if !found {
		var filled []string
		for _, name := range file.Names() {
			if t, _ := file.Tensor(name); t.Elements() > 0 {
				filled = append(filled, name)
			}
		}
		if len(filled) != 1 {
			return t, fmt.Errorf("%d tensors%s, expected one named %s, or only one",
				len(filled), listed(filled), strings.Join(keys, ", "))
		}
		t, _ = file.Tensor(filled[0])
	}
	if !t.DType.Float() {
		return t, fmt.Errorf("tensor %.80q is %s, expected F16, BF16, F32 or F64", t.Name, t.DType)
	}
	return t, nil
}

// listed is " (a, b, c ...)", nothing for none.
func listed(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (" + quote.List(names, ", ") + ")"
}

// floatsClip is a clip of floats, [C,T,H,W] or [1,C,T,H,W], or a single frame
// [C,H,W], in a .npy or safetensors file. C is 3 or the channels asked for.
type floatsClip struct {
	path                  string
	array                 *array
	channels              int // of a frame
	stored                int // of the file
	frames, height, width int
	fps                   latent.Rational
	plane                 []float32 // [H,W], once a frame is read
}

func framesKeys() []string { return []string{framesKey, "video", "samples"} }

func openFloats(path string, channels int) (Clip, error) {
	a, err := openArray(path, framesKeys()...)
	if err != nil {
		return nil, badInput(path, err)
	}
	c, err := floatsOf(a, path, channels)
	if err != nil {
		a.close()
		return nil, err
	}
	return c, nil
}

func floatsOf(a *array, path string, channels int) (*floatsClip, error) {
	if kind := a.meta[latent.MetaKind]; kind != "" || a.name == latentKey || a.name == comfyKey {
		return nil, badInputf(path, "is a latent of shape %v, expected a video", a.shape)
	}
	c := &floatsClip{path: path, array: a, channels: channels}
	if err := c.layout(); err != nil {
		return nil, badInput(path, err)
	}
	c.fps, _ = latent.ParseRational(a.meta[latent.MetaFPS])
	return c, nil
}

// layout checks the shape.
func (c *floatsClip) layout() error {
	s := c.array.shape
	if len(s) == 5 && s[0] == 1 {
		s = s[1:]
	}
	fits := len(s) > 0 && (s[0] == 3 || s[0] == c.channels)
	switch {
	case len(s) == 4 && fits:
		c.stored, c.frames, c.height, c.width = s[0], s[1], s[2], s[3]
	case len(s) == 3 && fits:
		c.stored, c.frames, c.height, c.width = s[0], 1, s[1], s[2]
	case c.channels == 4:
		return fmt.Errorf("frames have shape %v, expected [4,T,H,W], or [3,T,H,W] for opaque ones", c.array.shape)
	case len(s) > 0 && s[0] == 4:
		return fmt.Errorf("frames have shape %v, expected [3,T,H,W]: they are RGBA, and alpha isn't dropped from floats", c.array.shape)
	default:
		return fmt.Errorf("frames have shape %v, expected [3,T,H,W]", c.array.shape)
	}
	if c.frames == 0 {
		return fmt.Errorf("no frames: shape %v", c.array.shape)
	}
	if c.frames > maxFrames {
		return fmt.Errorf("frames have shape %v, expected at most %d frames", c.array.shape, maxFrames)
	}
	if err := checkSize(c.height, c.width); err != nil {
		return err
	}
	pixels := int64(c.height) * int64(c.width)
	return checkMemory(fmt.Sprintf("a frame of shape %v", c.array.shape), 4*pixels*int64(1+c.channels))
}

func (c *floatsClip) Frames() int               { return c.frames }
func (c *floatsClip) Size() (height, width int) { return c.height, c.width }
func (c *floatsClip) Channels() int             { return c.channels }
func (c *floatsClip) FPS() latent.Rational      { return c.fps }
func (c *floatsClip) Close() error              { return c.array.close() }

func (c *floatsClip) ReadFrame(t int, dst []float32) error {
	checkRead(c, t, dst)
	if c.plane == nil {
		c.plane = make([]float32, c.height*c.width)
	}
	if c.stored < c.channels {
		setOpaque(dst, c.channels)
	}
	for channel := range c.stored {
		start := (channel*c.frames + t) * len(c.plane)
		if err := c.array.readF32(c.plane, start); err != nil {
			return badInputf(c.path, "frame %d: %w", t, err)
		}
		if i := firstNonFinite(c.plane); i >= 0 {
			return badInputf(c.path, "frame %d: channel %d, row %d, column %d is %v, expected a finite number",
				t, channel, i/c.width, i%c.width, c.plane[i])
		}
		for i, v := range c.plane {
			dst[c.channels*i+channel] = v
		}
	}
	return nil
}
