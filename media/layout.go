package media

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tessera/latent"
)

// LatentOptions choose how a latent is read. The zero value accepts any number of
// channels.
type LatentOptions struct {
	// Channels of a latent; 0 accepts any number, channels first and [B,C,h,w] as
	// a clip.
	Channels int
	// Folded means that a clip's frames may be among the channels, [B,C*L,h,w], as
	// ComfyUI's samplers leave SeedVR2's latents.
	Folded bool
	// Packed means that squares of 2x2 cells may be among the channels, [4C,L,h/2,w/2],
	// as in FLUX.2's pipelines; see latent.Latent.Unpack.
	Packed bool
	// Pictures means that the model is for pictures, not clips, and a trainer's cache of
	// them has no frames.
	Pictures bool
	// Layout names the dimensions, as ParseLayout returns it; "" detects them from the
	// channels.
	Layout string
	// Key names the tensor, see ReadLatent.
	Key string
	// Height and Width are the size of packed latents in cells, both even.
	Height, Width int
}

// More precise errors for a latent that cannot be read; each is an ErrInput too.
var (
	// ErrModel means that the latent is of another model.
	ErrModel = errors.New("latent of another model")
	// ErrPacked means that the latent is packed tokens without their size, or with
	// another size than requested.
	ErrPacked = errors.New("packed latent of unknown size")
	// ErrProgram means that the program can read the latent, but the page cannot.
	ErrProgram = errors.New("latent for the program only")
)

// latentError is one of those errors with its text.
type latentError struct {
	kind error
	text string
}

func (e *latentError) Error() string { return e.text }
func (e *latentError) Unwrap() error { return e.kind }

func unfit(kind error, format string, args ...any) error {
	return &latentError{kind, fmt.Sprintf(format, args...)}
}

// folded is also the layout of four dimensions whose channels contain frames, with all
// frames of a channel before those of the next: ComfyUI's decode reshapes [B,16*L,h,w] to
// [B,16,L,h,w] (Comfy-Org/ComfyUI 1fa9472c, comfy/ldm/seedvr/vae.py, _latent_dims and
// _unscaled), and its model folded by "b c t h w -> b (c t) h w"
// (comfy/ldm/seedvr/model.py as in alexisrolland/ComfyUI 35aa850c).
const folded = "BCFHW"

// layout names the dimensions of an array.
type layout struct {
	batch, channels, frames, height, width int

	outer   int    // product of a clip's dimensions before the channels
	images  bool   // it is a batch of single frames
	moments bool   // half of the channels are means, the others log-variances
	squares bool   // channels contain squares of 2x2 cells
	places  bool   // a cell's place in its square is slower than the channel
	note    string // what was assumed
	// unpack moves the 2x2 cells of squares from the channels to their places; nil: there
	// are none.
	unpack func([]float32) []float32
}

// layout names a's dimensions, see ReadLatent.
func (a *array) layout(o LatentOptions) (layout, error) {
	if a.codes != "" {
		return layout{}, fmt.Errorf("dtype %s, expected floats: float16, bfloat16, float32 or float64", a.codes)
	}
	if slices.Contains(a.shape, 0) {
		return layout{}, fmt.Errorf("latent is empty: shape %v", a.shape)
	}
	switch {
	case o.Layout != "":
		return named(a.shape, o)
	case o.Height > 0:
		return unpacking(a.shape, o)
	}
	if a.meta[latent.MetaKind] == latent.KindMoments {
		return a.moments(o)
	}
	if y, ok := a.tokens(o); ok {
		return y, nil
	}
	untold := a.meta[latent.MetaKind] == "" && !a.batch                              // ComfyUI saves no moments
	if untold && o.Channels > 0 && (a.name == "parameters" || a.name == "moments") { // diffusers' name for them
		if y, err := a.moments(o); err == nil {
			return y, nil
		}
	}
	if y, ok := a.packed(o); ok {
		return y, nil
	}
	y, orders, err := fitting(a.shape, o, a.batch)
	switch {
	case o.Channels == 0 && a.meta[latent.MetaKind] == "" && a.trainer == nil:
		y.note = foldedHint(a.shape, a.batch)
	case err != nil && untold:
		err = a.otherwise(o, err)
	case err != nil && a.meta[latent.MetaModel] != "":
		err = fmt.Errorf("%w: it is of the model %.40q", err, a.meta[latent.MetaModel])
	case err == nil && a.trainer != nil:
		err = a.another(o)
	case untold && o.Channels > 0 && !(picker{}).sized(a.name, cacheKey): // others have one layout
		y.note = doubt(a.shape, y, orders)
	}
	return y, err
}

// unpacking names the dimensions of packed latents, [B,h/2*w/2,4C], with or without a
// batch.
func unpacking(shape []int, o LatentOptions) (layout, error) {
	s := shape
	if len(s) == 2 {
		s = []int{1, s[0], s[1]}
	}
	if len(s) != 3 || o.Channels != 0 && s[2] != 4*o.Channels || s[2]%4 != 0 {
		return layout{}, unfit(ErrPacked, "latent has shape %v, expected packed ones [B,N,%d] or [N,%[2]d] for a size", shape, 4*o.Channels)
	}
	if n := o.Height / 2 * (o.Width / 2); n != s[1] {
		return layout{}, unfit(ErrPacked, "packed latents have shape %v, of %d squares of 2x2 cells, but %dx%d cells have %d", shape, s[1], o.Width, o.Height, n)
	}
	y := layout{batch: s[0], channels: s[2] / 4, frames: 1, height: o.Height, width: o.Width, outer: 1}
	y.unpack = func(data []float32) []float32 { return latent.Unpacked(data, y.channels, y.height, y.width) }
	return y.asImages(), nil
}

// packed names the dimensions of a latent whose channels contain squares of 2x2 cells. It
// prefers channels first to squares that would be last. [B,N,4C] are tokens, whose size
// must be given.
func (a *array) packed(o LatentOptions) (y layout, ok bool) {
	if !o.Packed {
		return y, false
	}
	_, whole, unfit := fitting(a.shape, o, a.batch)
	o.Channels *= 4
	y, orders, err := fitting(a.shape, o, a.batch)
	y.squares = true
	return y, err == nil && orders[0] != "HWC" && (unfit != nil || !strings.HasSuffix(orders[0], "C") || strings.HasSuffix(whole[0], "C"))
}

// moments names the dimensions of means and log-variances.
func (a *array) moments(o LatentOptions) (layout, error) {
	o.Channels, o.Folded = 2*o.Channels, false
	y, _, err := fitting(a.shape, o, a.batch)
	y.moments = true
	switch model := a.meta[latent.MetaModel]; {
	case err != nil && model != "":
		err = fmt.Errorf("%w: it is of the model %.40q", err, model)
	case err == nil && y.channels%2 != 0:
		err = fmt.Errorf("shape %v of moments, expected means and as many log-variances", a.shape)
	}
	return y, err
}

// doubt says how an ambiguous shape is read; "" if it is not ambiguous.
func doubt(s []int, y layout, orders []string) string {
	is := orders[0]
	switch {
	case len(orders) == 1 && len(s) == 4 && is == folded && y.frames == 2:
		return fmt.Sprintf("shape %v is read as 2 frames of %d channels (%s), but could be moments (BMHW): --layout decides", s, y.channels, is)
	case len(orders) == 1:
		return ""
	case y.images:
		is += fmt.Sprintf(", %d pictures", y.frames)
	}
	return fmt.Sprintf("shape %v is read as %s, but could be %s: --layout decides", s, is, strings.Join(orders[1:], " or "))
}

// tokens names the dimensions of a clip [F*H*W,C] whose sizes are beside it, as LingBot
// stores latents.
func (a *array) tokens(o LatentOptions) (y layout, ok bool) {
	if len(a.shape) != 2 || o.Channels != 0 && a.shape[1] != o.Channels {
		return y, false
	}
	y = layout{batch: 1, channels: a.shape[1], outer: a.shape[0]}
	y.frames, y.height, y.width = a.number("latent_num_frames"), a.number("latent_height"), a.number("latent_width")
	return y, y.frames*y.height*y.width == a.shape[0]
}

// number reads a number beside a, 0 if it cannot be a side.
func (a *array) number(key string) int {
	n, err := strconv.Atoi(a.meta[key])
	if err != nil || n < 0 || n > maxFrames {
		return 0
	}
	return n
}

// sized names the dimensions of a shape in an order, if it has the given channels; 0 is
// any number.
func sized(s []int, order string, channels int) (layout, bool) {
	y := layout{batch: 1, frames: 1, outer: 1}
	if len(s) == 4 && order == folded {
		if channels == 0 || s[1]%channels != 0 {
			return y, false
		}
		s = []int{s[0], channels, s[1] / channels, s[2], s[3]}
	}
	for i := range order {
		switch order[i] {
		case 'B':
			y.batch = s[i]
			continue
		case 'C':
			y.channels = s[i]
		case 'F':
			y.frames = s[i]
		case 'H':
			y.height = s[i]
		case 'W':
			y.width = s[i]
		}
		if y.channels == 0 {
			y.outer *= s[i]
		}
	}
	return y.asImages(), channels == 0 || y.channels == channels
}

// fitting names the dimensions of a shape by the position of its channels, in the first
// order that fits. batch means that the first dimension is a batch.
func fitting(s []int, o LatentOptions, batch bool) (y layout, orders []string, err error) {
	for _, order := range likely(s, batch, o) {
		one, ok := sized(s, order, o.Channels)
		if !ok {
			continue
		}
		if orders = append(orders, order); len(orders) == 1 {
			y = one
		}
	}
	switch {
	case orders != nil:
		return y, orders, nil
	case len(s) == 5:
		err = unfit(ErrModel, "latent has shape %v, expected [B,C,L,h,w] or [B,L,h,w,C] of %d channels", s, o.Channels)
	case len(s) == 4 && batch:
		err = unfit(ErrModel, "latent of ComfyUI has shape %v, expected %d channels behind the batch", s, o.Channels)
	case (len(s) == 2 || len(s) == 3) && o.Channels > 0 && s[len(s)-1] == 4*o.Channels:
		err = unfit(ErrPacked, "packed latents have shape %v, of %d squares of 2x2 cells: --size=WIDTHxHEIGHT says how they lie", s, s[len(s)-2])
	case len(s) == 4 || len(s) == 3:
		err = unfit(ErrModel, "latent has shape %v, expected %d channels first or last", s, o.Channels)
	default:
		err = fmt.Errorf("latent has shape %v of rank %d, expected [C,L,h,w], possibly with a batch before it", s, len(s))
	}
	return layout{}, nil, err
}

// likely returns the layouts that a shape may have, the most likely first. A batch of one
// picture equals a clip of one frame.
func likely(s []int, batch bool, o LatentOptions) []string {
	var orders []string
	switch {
	case len(s) == 5:
		return []string{"BCFHW", "BFHWC", "BFCHW"}
	case len(s) == 3:
		return []string{"CHW", "HWC"}
	case len(s) != 4:
		return nil
	case batch:
		orders = []string{"BCHW"}
	case s[0] == 1:
		orders = []string{"CFHW", "BCHW", "FHWC"}
	default:
		orders = []string{"CFHW", "FHWC", "BCHW", "FCHW"}
	}
	if o.Folded && s[1] > o.Channels {
		orders = append(orders, folded)
	}
	return orders
}

// asImages turns a batch of single frames into one clip.
func (y layout) asImages() layout {
	if y.frames == 1 && y.batch > 1 {
		y.outer *= y.batch
		y.batch, y.frames, y.images = 1, y.batch, true
	}
	return y
}

// sides returns all dimensions.
func (y layout) sides() []int { return []int{y.batch, y.channels, y.frames, y.height, y.width} }

// latent returns a latent without the data.
func (a *array) latent(y layout) latent.Latent {
	l := latent.Latent{
		Channels: y.channels, Frames: y.frames, Height: y.height, Width: y.width,
		Meta: a.meta, Images: y.images, Moments: y.moments, ComfyUI: a.comfy, Trainer: a.trainer, Packed: y.unpack != nil,
	}
	if y.batch > 1 {
		l.Batch = y.batch
	}
	if a.note != "" {
		l.Notes = append(l.Notes, a.note)
	}
	if y.note != "" {
		l.Notes = append(l.Notes, y.note)
	}
	return l
}

// ordered reorders a file's data to a latent's order.
func (y layout) ordered(data []float32) []float32 {
	if y.unpack != nil {
		data = y.unpack(data)
	}
	switch {
	case y.places:
		return channelsFirst(data, y.channels/4, 4)
	case y.outer == 1:
		return data
	case y.batch == 1:
		return channelsFirst(data, y.channels, y.outer)
	}
	n := len(data) / y.batch
	for i := range y.batch {
		copy(data[i*n:], channelsFirst(data[i*n:][:n], y.channels, y.outer))
	}
	return data
}

// moved returns how many values ordered allocates besides the data.
func (y layout) moved() int64 {
	values := floatsBytes(y.sides()) / 4
	switch {
	case y.unpack != nil || y.squares || y.outer > 1 && y.batch == 1:
		return values
	case y.outer > 1:
		return values / int64(y.batch)
	}
	return 0
}

// channelsFirst transposes [outer,C,inner] to [C,outer,inner].
func channelsFirst(data []float32, channels, outer int) []float32 {
	inner := len(data) / channels / outer
	out := make([]float32, len(data))
	for i := range outer {
		for c := range channels {
			copy(out[(c*outer+i)*inner:][:inner], data[(i*channels+c)*inner:])
		}
	}
	return out
}
