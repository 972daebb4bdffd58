package media

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tessera/format"
	"tessera/format/file"
	"tessera/format/known"
	"tessera/format/pth"
	"tessera/format/quote"
	"tessera/format/safetensors"
	"tessera/latent"
)

// framesKey names the tensor of a .safetensors video.
const framesKey = "frames"

// array is the tensor in use of an open .npy or safetensors file.
type array struct {
	name  string // tensor name, empty for .npy
	note  string // why this tensor was picked among several
	shape []int
	meta  map[string]string // nil for .npy
	comfy bool              // the file has ComfyUI's version mark
	batch bool              // the first dimension is a batch, as always in ComfyUI's files
	// trainer is the program whose cache the file is, nil if none.
	trainer *latent.Trainer
	codes   string // type of 8-bit pixels, which are read as -1 to 1; "" for floats
	// readF32 fills dst with the elements from start on, row-major.
	readF32 func(dst []float32, start int) error
	close   func() error
}

// picker picks one tensor of a file, or one array of a .npz: key if it exists, else the
// first existing one of keys, else the only one.
type picker struct {
	key  string
	keys []string
}

func framesPicker() picker { return picker{keys: []string{framesKey, "video", "samples"}} }

func latentPicker(key string) picker {
	return picker{key, []string{latentKey, "samples", comfyKey, cacheKey, oneTrainerKey}}
}

// cacheKey begins the names of latents in the caches of musubi-tuner and sd-scripts,
// followed by their sizes. oneTrainerKey is the name in OneTrainer's.
const (
	cacheKey      = "latents"
	oneTrainerKey = "latent_image"
)

// sized reports whether a name is a key followed by a size: latents_3x6x8_bfloat16.
func (p picker) sized(name, key string) bool {
	rest, ok := strings.CutPrefix(name, key+"_")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// pick picks among names, and may return a note about the choice. filled are the names of
// tensors that are not empty. Of empty tensors, such as ComfyUI's version mark, only the
// names count.
func (p picker) pick(kind string, names, filled []string) (name, note string, err error) {
	keys, prefix := p.keys, cacheKey
	if p.key != "" {
		keys, prefix = []string{p.key}, p.key
	}
	for _, key := range keys {
		if slices.Contains(names, key) {
			return key, "", nil
		}
	}
	var found []string
	for _, name := range filled {
		if slices.Contains(keys, prefix) && p.sized(name, prefix) {
			found = append(found, name)
		}
	}
	switch {
	case p.key != "" && len(found) == 1:
		return found[0], "", nil
	case p.key != "":
		return "", "", fmt.Errorf("%d %s%s, expected one named %s, as --latent-key says", len(filled), kind, listed(filled), quote.Text(p.key))
	case len(filled) == 1:
		return filled[0], "", nil
	case len(found) == 1:
		return found[0], fmt.Sprintf("the latent is %s of %d %s: --latent-key names another", quote.Text(found[0]), len(filled), kind), nil
	}
	return "", "", several(found, fmt.Errorf("%d %s%s, expected one named %s, or only one", len(filled), kind, listed(filled), strings.Join(keys, ", ")))
}

// openArray opens the file and picks its tensor; .npy has one. Errors do not contain the
// path.
func openArray(path string, pick picker) (*array, error) {
	switch extension(path) {
	case ".npy":
		return openNPYArray(path)
	case ".npz":
		return openNPZArray(path, pick)
	}
	f, err := format.Open(path)
	a, err := pickArray(f, err, pick)
	return orShard(a, err, path, pick, nil, 0)
}

// readArray is openArray for size bytes of r; name gives the format.
func readArray(r io.ReaderAt, size int64, name string, pick picker) (*array, error) {
	switch extension(name) {
	case ".npy":
		npy, err := openNPY(r, size)
		if err != nil {
			return nil, err
		}
		return npy.array(func() error { return nil }), nil
	case ".npz":
		return readNPZ(r, size, name, pick)
	}
	f, err := format.Read(r, size, name)
	a, err := pickArray(f, err, pick)
	return orShard(a, err, name, pick, r, size)
}

// pickArray picks file's tensor and takes ownership of file. err is the error of opening
// it.
func pickArray(file format.File, err error, pick picker) (*array, error) {
	if err != nil {
		return nil, ownWords(err)
	}
	a, err := tensorArray(file, pick)
	if err != nil {
		file.Close()
		return nil, err
	}
	return a, nil
}

// ownWords removes the file's name from an error of package format.
func ownWords(err error) error {
	if ferr, ok := errors.AsType[*format.ForeignError](err); ok { // for an index it has the name of a shard
		return ferr.Err
	}
	if ferr, ok := errors.AsType[*safetensors.FormatError](err); ok {
		return ferr.Err
	}
	if ferr, ok := errors.AsType[*pth.FormatError](err); ok {
		return ferr.Err
	}
	return err
}

// model identifies a file that has the tensors of a model; nil for other files.
func model(f format.File) *known.Mistake {
	if k, tensor := known.ByTensors(format.Shapes{File: f}, ""); tensor != "" {
		m := k.Mistake("a latent or video", quote.Text(tensor))
		m.Do = "give the latent or video as the input"
		return m
	}
	const least = 4 // number of weights; no trainer stores this many beside a latent
	n := 0
	for _, name := range f.Names() {
		if strings.HasSuffix(name, ".weight") {
			n++
		}
	}
	if n < least {
		return nil
	}
	return &known.Mistake{
		Is: fmt.Sprintf("is a checkpoint of %d tensors, expected a latent or video", len(f.Names())),
		Do: "give the checkpoint with -m, and the latent or video as the input", Detail: "its tensors are " + quote.List(f.Names(), ", "),
	}
}

// tensorArray picks file's tensor and, if that succeeds, takes ownership of file.
func tensorArray(file format.File, pick picker) (*array, error) {
	var filled []string
	for _, name := range file.Names() {
		if t, _ := file.Tensor(name); t.Elements() > 0 {
			filled = append(filled, name)
		}
	}
	name, note, err := pick.pick("tensors", file.Names(), filled)
	if m := model(file); err != nil && m != nil {
		m.Err = err
		err = m
	}
	if err != nil {
		return nil, err
	}
	t, _ := file.Tensor(name)
	if !t.DType.Float() && t.DType != safetensors.U8 {
		return nil, fmt.Errorf("tensor %.80q is %s, expected F16, BF16, F32 or F64", t.Name, t.DType)
	}
	_, comfy := file.Tensor(comfyVersion)
	a := &array{
		name: t.Name, note: note, shape: t.Shape, meta: file.Metadata(), comfy: comfy, batch: comfy || t.Name == comfyKey,
		readF32: t.ReadF32, close: file.Close,
	}
	a.trainer = trainerOf(file, a.meta)
	if t.DType == safetensors.U8 {
		a.codes, a.readF32 = string(t.DType), codes(t)
	}
	return a, nil
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
	return npy.array(f.Close), nil
}

// array returns the file's array; close closes the file.
func (f *npyFile) array(close func() error) *array {
	a := &array{shape: f.shape, readF32: f.ReadF32, close: close}
	if f.dtype.size == 1 {
		a.codes = "uint8"
	}
	return a
}

// listed returns " (a, b, c ...)", "" for an empty list.
func listed(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (" + quote.List(names, ", ") + ")"
}

// floatsClip is a clip of floats or 8-bit pixels in a .npy, safetensors or torch file:
// [C,T,H,W], [T,C,H,W] or [T,H,W,C], optionally with leading 1s, or a single frame
// [C,H,W] or [H,W,C]. C is 3 or the requested channels.
type floatsClip struct {
	path                  string
	array                 *array
	channels              int    // of a returned frame
	stored                int    // in the file
	order                 string // of its dimensions, in --layout's letters
	note                  string // how an unusual shape is read
	frames, height, width int
	fps                   latent.Rational
	plane                 []float32 // one read: [H,W], or [H,W,C] if channels are last
}

// openFloats opens an array of pixels. If it may be a latent, channels must come first;
// see floatsOf.
func openFloats(path string, channels int, latents bool) (Clip, error) {
	a, err := openArray(path, framesPicker())
	if err != nil {
		if z, zerr := openArray(path, latentPicker("")); zerr == nil { // recognised by its name, among others
			z.close()
			err = fmt.Errorf("is a latent of shape %v, expected a video", z.shape)
		}
		return nil, badInput(path, err)
	}
	c, err := floatsOf(a, path, channels, latents)
	if err != nil {
		a.close()
		return nil, err
	}
	return c, nil
}

// floatsOf reads an array as a clip. latents means that it may be an unnamed latent, for
// example one three columns wide, which looks like colours; floats then need their
// channels first.
func floatsOf(a *array, path string, channels int, latents bool) (*floatsClip, error) {
	named := slices.Contains(latentPicker("").keys, a.name) && a.name != "samples" || (picker{}).sized(a.name, cacheKey)
	if kind := a.meta[latent.MetaKind]; kind != "" || named || a.trainer != nil {
		return nil, badInputf(path, "is a latent of shape %v, expected a video", a.shape)
	}
	c := &floatsClip{path: path, array: a, channels: channels}
	if err := c.layout(latents && a.codes == ""); err != nil {
		return nil, badInput(path, err)
	}
	c.fps, _ = latent.ParseRational(a.meta[latent.MetaFPS])
	return c, nil
}

// orders returns the possible orders of a shape's dimensions, the most likely first.
func (c *floatsClip) orders(shape []int) []string {
	switch len(shape) {
	case 3:
		return []string{"CHW", "HWC"}
	case 4:
		return []string{"CFHW", "FCHW", "FHWC"}
	}
	return nil
}

// layout checks the shape and chooses the first order that fits it.
func (c *floatsClip) layout(first bool) error {
	s := c.array.shape
	if len(s) == 5 && s[0] == 1 {
		s = s[1:]
	}
	if c.channels == 3 && len(s) > 2 && s[0] == 4 { // this could also be 4 frames
		return fmt.Errorf("frames have shape %v, expected [3,T,H,W]: they are RGBA, and alpha isn't dropped from floats", c.array.shape)
	}
	orders := c.orders(s)
	if first && len(orders) > 0 {
		orders = orders[:1]
	}
	var fit []string
	for _, order := range orders {
		y, ok := sized(s, order, 3)
		if !ok {
			y, ok = sized(s, order, c.channels)
		}
		if !ok {
			continue
		}
		if fit = append(fit, order); len(fit) == 1 {
			c.order, c.stored, c.frames, c.height, c.width = order, y.channels, y.frames, y.height, y.width
		}
	}
	switch {
	case len(fit) > 1:
		c.note = fmt.Sprintf("shape %v is read as %s, but could be %s", c.array.shape, c.order, strings.Join(fit[1:], " or "))
	case len(fit) == 1:
	case c.channels == 4:
		return fmt.Errorf("frames have shape %v, expected [4,T,H,W], or [3,T,H,W] for opaque ones; channels may be behind T, or last", c.array.shape)
	case len(s) > 0 && s[len(s)-1] == 4:
		return fmt.Errorf("frames have shape %v, expected [T,H,W,3]: they are RGBA, and alpha isn't dropped from arrays", c.array.shape)
	default:
		return fmt.Errorf("frames have shape %v, expected [3,T,H,W], [T,3,H,W] or [T,H,W,3]", c.array.shape)
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
	return checkMemory(fmt.Sprintf("a frame of shape %v", c.array.shape), 4*pixels*int64(c.together()+c.channels))
}

func (c *floatsClip) Frames() int               { return c.frames }
func (c *floatsClip) Size() (height, width int) { return c.height, c.width }
func (c *floatsClip) Channels() int             { return c.channels }
func (c *floatsClip) FPS() latent.Rational      { return c.fps }
func (c *floatsClip) Close() error              { return c.array.close() }

// together returns how many channels are read at once: all if they are last, else one.
func (c *floatsClip) together() int {
	if strings.HasSuffix(c.order, "C") {
		return c.stored
	}
	return 1
}

func (c *floatsClip) ReadFrame(t int, dst []float32) error {
	checkRead(c, t, dst)
	step := c.together()
	if c.plane == nil {
		c.plane = make([]float32, c.height*c.width*step)
	}
	if c.stored < c.channels {
		setOpaque(dst, c.channels)
	}
	planes := c.stored / step
	for p := range planes {
		start := (p*c.frames + t) * len(c.plane)
		if strings.HasPrefix(c.order, "F") {
			start = (t*planes + p) * len(c.plane)
		}
		if err := c.array.readF32(c.plane, start); err != nil {
			return badInputf(c.path, "frame %d: %w", t, err)
		}
		if i := firstNonFinite(c.plane); i >= 0 {
			pixel := i / step
			return badInputf(c.path, "frame %d: channel %d, row %d, column %d is %v, expected a finite number",
				t, p+i%step, pixel/c.width, pixel%c.width, c.plane[i])
		}
		if err := RangeOf(c.plane).Check(); err != nil {
			return badInputf(c.path, "frame %d: %w", t, err)
		}
		for i, v := range c.plane {
			dst[c.channels*(i/step)+p+i%step] = v
		}
	}
	return nil
}
