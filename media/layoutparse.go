package media

import (
	"fmt"
	"slices"
	"strings"

	"tessera/format/safetensors"
)

// layouts are the supported orders of dimensions: B is the batch, C are channels, F
// frames, H and W cells.
var layouts = []string{"BCFHW", "BFCHW", "BFHWC", "CFHW", "FCHW", "FHWC", "BCHW", "BHWC", "CHW", "HWC"}

// ParseLayout reads a layout such as FCHW or bcthw: T and L also mean F. M instead of C
// means the channels of moments.
func ParseLayout(text string) (string, error) {
	order := strings.NewReplacer("T", "F", "L", "F").Replace(strings.ToUpper(text))
	if !slices.Contains(layouts, strings.Replace(order, "M", "C", 1)) {
		return "", fmt.Errorf("%.20q, expected %s, or one with M in place of C for moments", text, strings.Join(layouts, ", "))
	}
	return order, nil
}

// named names the dimensions of a shape by o.Layout.
func named(s []int, o LatentOptions) (layout, error) {
	order, channels := o.Layout, o.Channels
	moments := strings.Contains(order, "M")
	if moments {
		order, channels = strings.Replace(order, "M", "C", 1), 2*channels
	}
	if len(s) != len(order) && (order != folded || len(s) != 4) {
		return layout{}, fmt.Errorf("latent has shape %v, expected %d dimensions for --layout=%s", s, len(order), o.Layout)
	}
	y, ok := sized(s, order, channels)
	if packed, squares := sized(s, order, 4*channels); o.Packed && !moments && squares {
		y, ok = packed, true
		y.squares = true
	}
	if !ok {
		return layout{}, unfit(ErrModel, "latent has shape %v, expected %d channels at the place of --layout=%s", s, channels, o.Layout)
	}
	y.moments = moments
	return y, nil
}

// foldedHint suggests, for a latent of unknown channels, that its frames may be among the
// channels, as ComfyUI's samplers leave SeedVR2's latents of 16; "" if they cannot be.
func foldedHint(s []int, batch bool) string {
	const channels = 16
	plain := len(s) > 0 && !batch && slices.Contains([]int{channels, 48}, s[0]) // Wan 2.2's are 48
	if len(s) != 4 || plain || s[1] <= channels || s[1]%channels != 0 {
		return ""
	}
	other := ""
	switch s[1] {
	case 2 * channels:
		other = fmt.Sprintf(", or moments of %d channels", channels)
	case 48:
		other = ", or one frame of 48, of Wan 2.2"
	}
	return fmt.Sprintf("shape %v may be %d frames of %d channels, as ComfyUI's samplers leave SeedVR2's latents%s: the model decides", s, s[1]/channels, channels, other)
}

// several explains err, which says that no tensor of a file is the latent, if some could
// be.
func several(found []string, err error) error {
	if len(found) > 1 {
		return fmt.Errorf("%d latents%s: --latent-key chooses one", len(found), listed(found))
	}
	return err
}

// another refuses OneTrainer's caches of other models, where the shape shows it: those of
// pictures have no frames.
func (a *array) another(o LatentOptions) error {
	switch pictures := len(a.shape) == 3; {
	case o.Channels == 0 || !a.trainer.Unscaled || pictures == o.Pictures:
		return nil
	case pictures:
		return unfit(ErrModel, "latent has shape %v, expected [C,L,h,w]: %s stores latents of video models so, [C,h,w] is for picture models", a.shape, a.trainer.Name)
	}
	return unfit(ErrModel, "latent has shape %v, expected [C,h,w]: %s stores latents of picture models so, [C,L,h,w] is for video models", a.shape, a.trainer.Name)
}

// otherwise adds to err, which says that a is not a latent, what it is instead, or that
// it may be moments.
func (a *array) otherwise(o LatentOptions, err error) error {
	if t := a.trainer; t != nil && t.Model != "" {
		return fmt.Errorf("%w: it is a cache of %s for %.40q", err, t.Name, t.Model)
	}
	o.Channels, o.Folded = 2*o.Channels, false
	_, orders, merr := fitting(a.shape, o, false)
	if merr != nil || o.Channels == 0 {
		return err
	}
	return fmt.Errorf("%w; --layout=%s reads %d of them as means and log-variances", err, strings.Replace(orders[0], "C", "M", 1), o.Channels)
}

// codes reads a tensor of 8-bit pixels, as ReadF32 reads one of floats.
func codes(t safetensors.Tensor) func(dst []float32, start int) error {
	return func(dst []float32, start int) error {
		buffer := make([]byte, min(len(dst), 1<<16))
		for part := range slices.Chunk(dst, 1<<16) {
			raw := buffer[:len(part)]
			if err := t.ReadRaw(raw, int64(start)); err != nil {
				return err
			}
			npyType{size: 1}.decode(part, raw)
			start += len(part)
		}
		return nil
	}
}
