package vae

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tessera/format"
)

// ltx is the name of LTX-2's family. The keys are tensors that its layouts are told by;
// that of diffusers is HunyuanVideo's too, which has norms with weights.
const (
	ltx                    = "ltx2"
	ltxKey                 = "decoder.up_blocks.0.res_blocks.0.conv1.conv.weight"
	ltxEncoderKey          = "encoder.down_blocks.0.res_blocks.0.conv1.conv.weight"
	ltxDiffusersKey        = "decoder.up_blocks.0.upsamplers.0.conv.conv.weight"
	ltxDiffusersEncoderKey = "encoder.down_blocks.0.downsamplers.0.conv.conv.weight"
)

// ltxConfig is what stages of LTX-2 differ in, beside their widths.
type ltxConfig struct {
	encoder, decoder []int        // residual blocks of each stage
	down, up         []ltxSampler // between them
	mirrors, skips   bool         // the decoder's, see ltxLayers and ltxUp
}

// ltxSampler is how many frames become one or are made of one, and pixels of a side.
type ltxSampler struct{ time, space int }

// cells is how many pixels of all frames that are.
func (s ltxSampler) cells() int { return s.time * s.space * s.space }

// ltxSamplers are those that there are, by their cells.
var ltxSamplers = map[int]ltxSampler{2: {2, 1}, 4: {1, 2}, 8: {2, 2}}

// publishedLTX is the configuration of LTX-2's.
var publishedLTX = Config{
	Model: "LTX-2", Layout: "original", Spatial: 32, Temporal: 8, Channels: 3, Patch: 4, Blocks: 4, Latent: 128,
	Widths: []int{128, 256, 512, 1024, 2048}, Decoder: []int{1024, 512, 256, 128},
	TimeDown: []bool{false, true, true, true}, TimeUp: []bool{true, true, true},
	ltx: ltxConfig{
		encoder: []int{4, 6, 6, 2, 2}, decoder: []int{5, 5, 5, 5}, mirrors: true, skips: true,
		down: []ltxSampler{{1, 2}, {2, 1}, {2, 2}, {2, 2}}, up: []ltxSampler{{2, 2}, {2, 2}, {2, 2}},
	},
}

// publishedLTX23 is the configuration of LTX-2.3's.
var publishedLTX23 = Config{
	Model: "LTX-2.3", Layout: "original", Spatial: 32, Temporal: 8, Channels: 3, Patch: 4, Blocks: 4, Latent: 128,
	Widths: []int{128, 256, 512, 1024, 1024}, Decoder: []int{1024, 512, 512, 256, 128},
	TimeDown: []bool{false, true, true, true}, TimeUp: []bool{true, true, true, false},
	ltx: ltxConfig{
		encoder: []int{4, 6, 4, 2, 2}, decoder: []int{2, 2, 4, 6, 4},
		down: []ltxSampler{{1, 2}, {2, 1}, {2, 2}, {2, 2}}, up: []ltxSampler{{2, 2}, {2, 2}, {2, 1}, {1, 2}},
	},
}

// isLTX tells a file of those layouts.
func isLTX(f format.File) bool {
	switch {
	case hasTensor(f, ltxKey) || hasTensor(f, ltxEncoderKey) && lacking(f) == "decoder":
		return true
	case hasTensor(f, ltxDiffusersKey):
		return hasTensor(f, "decoder.mid_block.resnets.0.conv1.conv.weight") && !hasTensor(f, "decoder.mid_block.resnets.0.norm1.weight", "decoder.conv_norm_out.weight")
	case lacking(f) == "decoder" && hasTensor(f, ltxDiffusersEncoderKey):
		return hasTensor(f, "encoder.mid_block.resnets.0.conv1.conv.weight") && !hasTensor(f, "encoder.mid_block.resnets.0.norm1.weight", "encoder.conv_norm_out.weight")
	}
	return false
}

// configureLTX reads the configuration from names and shapes, and the statistics, which
// are tensors. The layers use the original names.
func configureLTX(f format.File) (Config, tensors, error) {
	c := Config{Model: "LTX-2", Layout: "original", Channels: 3, Lacks: lacking(f)}
	t := tensors{file: f, name: func(name string) string { return name }}
	if !hasTensor(f, ltxKey, ltxEncoderKey) {
		c.Layout = "diffusers"
		mids := map[string]int{ // of the original's blocks
			"encoder": 2 * t.count("encoder.down_blocks.%d.downsamplers.0.conv.conv.weight"), "decoder": 0,
		}
		t.name = func(name string) string { return ltxDiffusers(name, mids) }
	}
	var err error
	var spatial, temporal int
	if c.Lacks != "encoder" {
		if c.Widths, c.ltx.encoder, c.ltx.down, err = ltxStages(t, "encoder.down_blocks.", true); err != nil {
			return c, t, err
		}
		spatial, temporal, c.TimeDown = ltxFactors(c.ltx.down)
		c.Blocks = c.ltx.encoder[0]
	}
	if c.Lacks != "decoder" {
		if c.Decoder, c.ltx.decoder, c.ltx.up, err = ltxStages(t, "decoder.up_blocks.", false); err != nil {
			return c, t, err
		}
		s, n, times := ltxFactors(c.ltx.up)
		if c.Lacks == "" && (s != spatial || n != temporal) {
			return c, t, fmt.Errorf("vae: %s: samplers change sides by %d and frames by %d in the encoder, by %d and %d in the decoder, expected the same", f.Name(), spatial, temporal, s, n)
		}
		spatial, temporal, c.TimeUp = s, n, times
		if c.Lacks == "encoder" {
			c.Blocks = c.ltx.decoder[0]
		}
	}
	if err := c.pixelsLTX(t); err != nil {
		return c, t, err
	}
	c.Spatial, c.Temporal = spatial*c.Patch, temporal
	if err := c.nameLTX(f.Name()); err != nil {
		return c, t, err
	}
	c.Mean, c.Scale, _ = ltxStatistics(t) // see checkLTX
	if n := len(c.Mean); n > 0 && n != c.Latent {
		return c, t, fmt.Errorf("vae: %s: found statistics of %d latent channels, expected %d", f.Name(), n, c.Latent)
	}
	return c, t, c.checkSizes(f.Name())
}

// maxStages are more than any model has, and few enough for their factors to be numbers.
const maxStages = 8

// ltxStages reads a network's stages: residual blocks at even places, samplers between
// them, whose outputs tell how many cells become one or are made of one.
func ltxStages(t tensors, blocks string, down bool) (widths, counts []int, samplers []ltxSampler, err error) {
	for i := 0; t.has(blocks + strconv.Itoa(2*i) + ".res_blocks.0.conv1.conv.weight"); i++ {
		name := blocks + strconv.Itoa(2*i)
		w, err := t.dim(name+".res_blocks.0.conv1.conv.weight", 0, 5)
		if err != nil {
			return nil, nil, nil, err
		}
		widths, counts = append(widths, w), append(counts, t.count(name+".res_blocks.%d.conv1.conv.weight"))
		if i == 0 {
			continue
		}
		conv := blocks + strconv.Itoa(2*i-1) + ".conv.conv.weight"
		made, err := t.dim(conv, 0, 5)
		if err != nil {
			return nil, nil, nil, err
		}
		large, small := made, w
		if down {
			large, small = w, made
		}
		s, ok := ltxSamplers[large/small]
		if !ok || large%small != 0 {
			return nil, nil, nil, fmt.Errorf("vae: %s: tensor %s makes %d channels, next to a stage of %d: expected 2, 4 or 8 times as many of one", t.file.Name(), t.name(conv), made, w)
		}
		if in := widths[i-1] * s.cells(); down && in%w != 0 {
			return nil, nil, nil, fmt.Errorf("vae: %s: tensor %s is between stages of %d and %d channels, expected the second to divide %d", t.file.Name(), t.name(conv), widths[i-1], w, in)
		}
		samplers = append(samplers, s)
	}
	if len(widths) < 2 || len(widths) > maxStages {
		return nil, nil, nil, fmt.Errorf("vae: %s: found %d stages from %s on, expected 2 to 8", t.file.Name(), len(widths), t.name(blocks+"0.res_blocks.0.conv1.conv.weight"))
	}
	return widths, counts, samplers, nil
}

// ltxFactors is what samplers change altogether: sides, frames, and which of them change
// time.
func ltxFactors(samplers []ltxSampler) (space, time int, times []bool) {
	space, time = 1, 1
	for _, s := range samplers {
		space, time, times = space*s.space, time*s.time, append(times, s.time > 1)
	}
	return space, time, times
}

// pixelsLTX reads the channels of pixels, in patches, and of latents.
func (c *Config) pixelsLTX(t tensors) error {
	conv, axis := "encoder.conv_in.conv.weight", 1
	if c.Lacks == "encoder" {
		conv, axis = "decoder.conv_out.conv.weight", 0
	}
	n, err := t.dim(conv, axis, 5)
	if err != nil {
		return err
	}
	c.Patch = int(math.Sqrt(float64(n / c.Channels)))
	if c.Patch < 1 || c.Patch*c.Patch*c.Channels != n {
		return fmt.Errorf("vae: %s: tensor %s has %d channels of pixels, expected %d times a square", t.file.Name(), t.name(conv), n, c.Channels)
	}
	if c.Lacks != "decoder" {
		c.Latent, err = t.dim("decoder.conv_in.conv.weight", 1, 5)
		return err
	}
	n, err = t.dim("encoder.conv_out.conv.weight", 0, 5) // and one variance for all
	c.Latent = n - 1
	return err
}

// nameLTX tells LTX-2 from LTX-2.3 by the decoder's stages, or the encoder's widths. The
// decoder of LTX-2 mirrors frames at their edges and adds to what it enlarges.
func (c *Config) nameLTX(file string) error {
	old := len(c.Decoder) == 4
	if c.Lacks == "decoder" {
		old = c.Widths[len(c.Widths)-1] > c.Widths[len(c.Widths)-2]
	}
	if !old {
		c.Model = "LTX-2.3"
		return nil
	}
	c.ltx.mirrors, c.ltx.skips = true, true
	for i, s := range c.ltx.up {
		in, out := c.Decoder[i], c.Decoder[i+1]
		if n := in / s.cells(); n < 1 || n*s.cells() != in || out%n != 0 {
			return fmt.Errorf("vae: %s: decoder stage %d has %d channels after %d, expected a multiple of %d", file, i+1, out, in, n)
		}
	}
	return nil
}

// ltxStatistics are those of the latents, nil where the file has none.
func ltxStatistics(t tensors) (mean, scale []float64, err error) {
	var lists [2][]float32
	for i, name := range []string{"per_channel_statistics.mean-of-means", "per_channel_statistics.std-of-means"} {
		x, ok := t.find(name)
		if !ok {
			continue
		}
		n, err := t.dim(name, 0, 1)
		if err != nil {
			return nil, nil, err
		}
		if !x.DType.Float() {
			return nil, nil, fmt.Errorf("vae: %s: tensor %s is %s, expected F16, BF16 or F32", t.file.Name(), x.Name, x.DType)
		}
		lists[i] = make([]float32, n)
		if err := x.ReadF32(lists[i], 0); err != nil {
			return nil, nil, err
		}
		for k, v := range lists[i] {
			if v-v != 0 || i == 1 && v <= 0 {
				return nil, nil, fmt.Errorf("vae: %s: tensor %s: element %d is %v, expected statistics of latents", t.file.Name(), x.Name, k, v)
			}
		}
	}
	if len(lists[0]) != len(lists[1]) {
		return nil, nil, fmt.Errorf("vae: %s: found %d means and %d deviations of latents, expected as many", t.file.Name(), len(lists[0]), len(lists[1]))
	}
	for k, std := range lists[1] {
		mean, scale = append(mean, float64(lists[0][k])), append(scale, 1/float64(std))
	}
	return mean, scale, nil
}

// checkLTX refuses a file whose statistics are none.
func checkLTX(t tensors) error {
	_, _, err := ltxStatistics(t)
	return err
}

// ltxDiffusers is the name that diffusers gives to a tensor of the original name: stages
// are numbered by themselves, with the sampler behind them in the encoder, before them in
// the decoder, and one of the original's places is the middle.
func ltxDiffusers(name string, mids map[string]int) string {
	switch name {
	case "per_channel_statistics.mean-of-means":
		return "latents_mean"
	case "per_channel_statistics.std-of-means":
		return "latents_std"
	}
	parts := strings.SplitN(name, ".", 4)
	if len(parts) < 4 || parts[1] != "down_blocks" && parts[1] != "up_blocks" {
		return name
	}
	at, _ := strconv.Atoi(parts[2])
	rest := strings.Replace(parts[3], "res_blocks.", "resnets.", 1)
	mid := mids[parts[0]]
	if at == mid {
		return parts[0] + ".mid_block." + rest
	}
	if parts[0] == "decoder" {
		at--
	}
	if rest == parts[3] {
		rest = strings.TrimSuffix(parts[1], "_blocks") + "samplers.0." + rest
	}
	return fmt.Sprintf("%s.%s.%d.%s", parts[0], parts[1], at/2, rest)
}
