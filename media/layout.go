package media

import (
	"fmt"
	"slices"

	"tessera/latent"
)

// layout names the dimensions of an array.
type layout struct {
	batch, channels, frames, height, width int

	last    bool // channels come last
	images  bool // it is a batch of single frames
	moments bool // half of the channels are means, the others log-variances
}

// layout names a's dimensions, see ReadLatent.
func (a *array) layout(channels int) (layout, error) {
	kind := a.meta[latent.MetaKind]
	if kind == latent.KindMoments {
		y, err := layoutOf(a.shape, 2*channels, a.batch)
		y.moments = true
		if err == nil && y.channels%2 != 0 {
			err = fmt.Errorf("shape %v of moments, expected means and as many log-variances", a.shape)
		}
		return y, err
	}
	y, err := layoutOf(a.shape, channels, a.batch)
	if err != nil && kind == "" {
		if y, err := layoutOf(a.shape, 2*channels, a.batch); err == nil {
			y.moments = true
			return y, nil
		}
	}
	if model := a.meta[latent.MetaModel]; err != nil && model != "" {
		err = fmt.Errorf("%w: it is of the model %.40q", err, model)
	}
	return y, err
}

// layoutOf names the dimensions of a shape; batch: the first is a batch.
func layoutOf(s []int, channels int, batch bool) (layout, error) {
	if slices.Contains(s, 0) {
		return layout{}, fmt.Errorf("latent is empty: shape %v", s)
	}
	fits := func(axis int) bool { return s[axis] == channels || channels == 0 }
	switch {
	case len(s) == 5 && fits(1):
		return layout{batch: s[0], channels: s[1], frames: s[2], height: s[3], width: s[4]}.asImages(), nil
	case len(s) == 5 && fits(4):
		return layout{batch: s[0], frames: s[1], height: s[2], width: s[3], channels: s[4], last: true}.asImages(), nil
	case len(s) == 4 && batch && fits(1):
		return layout{batch: s[0], channels: s[1], frames: 1, height: s[2], width: s[3]}.asImages(), nil
	case len(s) == 4 && batch:
		return layout{}, fmt.Errorf("latent of ComfyUI has shape %v, expected %d channels behind the batch", s, channels)
	case len(s) == 4 && fits(0):
		return layout{batch: 1, channels: s[0], frames: s[1], height: s[2], width: s[3]}, nil
	case len(s) == 4 && s[0] == 1 && fits(1):
		return layout{batch: 1, channels: s[1], frames: 1, height: s[2], width: s[3]}, nil
	case len(s) == 4 && fits(3):
		return layout{batch: 1, frames: s[0], height: s[1], width: s[2], channels: s[3], last: true}, nil
	case len(s) == 4 && fits(1):
		return layout{batch: s[0], channels: s[1], frames: 1, height: s[2], width: s[3]}.asImages(), nil
	case len(s) == 3 && fits(0):
		return layout{batch: 1, channels: s[0], frames: 1, height: s[1], width: s[2]}, nil
	case len(s) == 3 && fits(2):
		return layout{batch: 1, frames: 1, height: s[0], width: s[1], channels: s[2], last: true}, nil
	case len(s) == 5:
		return layout{}, fmt.Errorf("latent has shape %v, expected [B,C,L,h,w] or [B,L,h,w,C] of %d channels", s, channels)
	case len(s) == 4 || len(s) == 3:
		return layout{}, fmt.Errorf("latent has shape %v, expected %d channels first or last", s, channels)
	}
	return layout{}, fmt.Errorf("latent has shape %v of rank %d, expected [C,L,h,w], possibly with a batch before it", s, len(s))
}

// asImages makes one clip of a batch of single frames.
func (y layout) asImages() layout {
	if y.frames == 1 && y.batch > 1 {
		y.batch, y.frames, y.images = 1, y.batch, true
	}
	return y
}

// latent is all of a latent but the data.
func (a *array) latent(y layout) latent.Latent {
	l := latent.Latent{
		Channels: y.channels, Frames: y.frames, Height: y.height, Width: y.width,
		Meta: a.meta, Images: y.images, Moments: y.moments, ComfyUI: a.comfy,
	}
	if y.batch > 1 {
		l.Batch = y.batch
	}
	return l
}

// ordered puts data as it lies in the file in a latent's order.
func (y layout) ordered(data []float32) []float32 {
	switch {
	case y.last && y.images: // [B,1,h,w,C], which the frames of a clip are too
		return channelsFirst(data, y.channels, y.frames*y.height*y.width)
	case y.last:
		n := len(data) / y.batch
		for i := range y.batch {
			copy(data[i*n:], channelsFirst(data[i*n:][:n], y.channels, n/y.channels))
		}
	case y.images:
		return channelsFirst(data, y.channels, y.frames)
	}
	return data
}

// moved is how many values ordered holds besides the data.
func (y layout) moved() int64 {
	values := int64(y.batch) * int64(y.channels) * int64(y.frames) * int64(y.height) * int64(y.width)
	switch {
	case y.images:
		return values
	case y.last:
		return values / int64(y.batch)
	}
	return 0
}

// channelsFirst turns [outer,C,inner] into [C,outer,inner].
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
