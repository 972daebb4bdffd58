package vae

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"tessera/format"
	"tessera/latent"
)

// Tensors that identify tiny autoencoders of pictures: blocks that all of them have, by
// the original names, ComfyUI's, and those of diffusers, which numbers a decoder's layers
// from one less.
const (
	tinyKey          = "decoder.3.conv.0.weight"
	tinyComfyKey     = "taesd_decoder.3.conv.0.weight"
	tinyDiffusersKey = "decoder.layers.2.conv.0.weight"

	tinyEncoderKey          = "encoder.7.conv.0.weight"
	tinyComfyEncoderKey     = "taesd_encoder.7.conv.0.weight"
	tinyDiffusersEncoderKey = "encoder.layers.7.conv.0.weight"
)

// publishedTAESD is the configuration of TAESD.
var publishedTAESD = Config{
	Model: "TAESD", Layout: "original", Spatial: 8, Temporal: 1, Channels: 3, Patch: 1, Blocks: 3, Latent: 4, Independent: true,
	Widths: []int{64, 64, 64, 64}, Decoder: []int{64, 64, 64, 64}, TimeDown: []bool{false, false, false}, TimeUp: []bool{false, false, false},
	pipeline: true, tiny: taesdLayers(),
}

// taesdLayers returns TAESD's layers.
func taesdLayers() tinyHalves {
	blocks := func(layers []tinyLayer, from, n int) []tinyLayer {
		for i := range n {
			layers = append(layers, tinyLayer{at: from + i, out: 64, block: true})
		}
		return layers
	}
	encoder := blocks([]tinyLayer{{at: 0, out: 64, bias: true}}, 1, 1)
	decoder := []tinyLayer{{at: 1, out: 64, bias: true, relu: true}}
	for i := range 3 {
		encoder = blocks(append(encoder, tinyLayer{at: 2 + 4*i, out: 64, resizes: true}), 3+4*i, 3)
		decoder = append(blocks(decoder, 3+5*i, 3), tinyLayer{at: 7 + 5*i, out: 64, resizes: true})
	}
	return tinyHalves{
		encoder: append(encoder, tinyLayer{at: 14, out: 4, bias: true}),
		decoder: append(blocks(decoder, 18, 1), tinyLayer{at: 19, out: 3, bias: true}),
	}
}

// tinyHalves are the layers with weights, read from names.
type tinyHalves struct{ encoder, decoder []tinyLayer }

// tinyLayer is a block or a convolution.
type tinyLayer struct {
	at      int // number in names
	out     int // channels
	block   bool
	pool    bool // block: begins with a tinyPool
	bias    bool // convolution: has a bias
	relu    bool // convolution: followed by ReLU
	resizes bool // in an encoder it halves the size; in a decoder its input is enlarged twofold
}

// name returns the name of a layer of one half.
func (l tinyLayer) name(half string) string { return half + "." + strconv.Itoa(l.at) }

// tinyNaming is how a file names the layers of encoders and decoders.
type tinyNaming struct {
	layout           string
	encoder, decoder string // before the number; "-" if the file lacks the half
	less             int    // subtracted from a decoder's numbers
}

// file returns the file's name of a tensor.
func (n tinyNaming) file(name string) string {
	half, rest, _ := strings.Cut(name, ".")
	number, rest, _ := strings.Cut(rest, ".")
	at, _ := strconv.Atoi(number)
	if half == "decoder" {
		return fmt.Sprintf("%s%d.%s", n.decoder, at-n.less, rest)
	}
	return fmt.Sprintf("%s%d.%s", n.encoder, at, rest)
}

// tinyNames finds out how a file names its tensors, if it is a tiny autoencoder of
// pictures, or half of one. The blocks of those for clips read two frames.
func tinyNames(f format.File) (tinyNaming, bool) {
	square := func(name string) bool {
		x, ok := f.Tensor(name)
		return ok && len(x.Shape) == 4 && x.Shape[0] == x.Shape[1]
	}
	switch {
	case square(tinyKey) || square(tinyEncoderKey):
		return tinyNaming{"original", "encoder.", "decoder.", 0}, true
	case square(tinyComfyKey) || square(tinyComfyEncoderKey):
		return tinyNaming{"original", "taesd_encoder.", "taesd_decoder.", 0}, true
	case square(tinyDiffusersKey) || square(tinyDiffusersEncoderKey):
		return tinyNaming{"diffusers", "encoder.layers.", "decoder.layers.", 1}, true
	case square("7.conv.0.weight") && hasTensor(f, "0.weight", "4.weight"): // an encoder's second layer has weights, or its fifth is a convolution
		return tinyNaming{"original", "", "-", 0}, true
	case square("3.conv.0.weight") && square("4.conv.0.weight"):
		return tinyNaming{"original", "-", "", 0}, true
	}
	return tinyNaming{}, false
}

// isTiny recognises a file with such names.
func isTiny(f format.File) bool {
	_, ok := tinyNames(f)
	return ok
}

// configureTiny reads the layers from names and shapes. They get the original names.
func configureTiny(f format.File) (Config, tensors, error) {
	n, _ := tinyNames(f)
	c := Config{Family: taesd, Layout: n.layout, Temporal: 1, Independent: true}
	t := tensors{file: f, name: n.file}
	encoder, err := readTiny(t, "encoder")
	if err != nil {
		return c, t, err
	}
	decoder, err := readTiny(t, "decoder")
	if err != nil {
		return c, t, err
	}
	c.tiny, c.Widths, c.Decoder = tinyHalves{encoder.layers, decoder.layers}, encoder.widths, decoder.widths
	half := encoder
	switch {
	case encoder.layers == nil:
		c.Lacks, half = "encoder", decoder
	case decoder.layers == nil:
		c.Lacks = "decoder"
	case encoder.tinySizes != decoder.tinySizes:
		return c, t, fmt.Errorf("vae: %s: the encoder has %v, the decoder %v, expected the same", f.Name(), encoder.tinySizes, decoder.tinySizes)
	}
	c.Latent, c.Channels, c.Patch, c.Spatial = half.latent, half.channels, half.patch, half.spatial
	c.Blocks, c.Groups = half.blocks, half.groups
	c.TimeDown, c.TimeUp = make([]bool, max(0, len(c.Widths)-1)), make([]bool, max(0, len(c.Decoder)-1))
	nameTiny(&c, f.Name())
	return c, t, c.comfyStatistics(f)
}

// comfyStatistics reads the numbers that ComfyUI stores with a tiny autoencoder for the
// conversion between its latents and the VAE's own: one, or one per channel.
func (c *Config) comfyStatistics(f format.File) error {
	values := map[string][]float64{"vae_shift": nil, "vae_scale": nil}
	for name := range values {
		x, ok := f.Tensor(name)
		if !ok {
			return nil
		}
		if n := x.Elements(); n != 1 && n != c.Latent || !x.DType.Float() {
			return fmt.Errorf("vae: %s: tensor %s of %s has shape %v, expected one float, or one for each of %d channels", f.Name(), name, x.DType, x.Shape, c.Latent)
		}
		v := make([]float32, x.Elements())
		if err := x.ReadF32(v, 0); err != nil {
			return fmt.Errorf("vae: %s: %w", f.Name(), err)
		}
		for i := range c.Latent {
			y := float64(v[i%len(v)])
			if name == "vae_scale" && !(y > 0) || y-y != 0 {
				return fmt.Errorf("vae: %s: tensor %s has %v, expected finite numbers, of a scale positive ones", f.Name(), name, y)
			}
			values[name] = append(values[name], y)
		}
	}
	c.Mean, c.Scale = values["vae_shift"], values["vae_scale"]
	return nil
}

// tinyHalf is an encoder or a decoder, as its names and shapes describe it.
type tinyHalf struct {
	tinySizes
	layers []tinyLayer // nil: the file lacks this half
	widths []int       // per size
	blocks int         // most blocks at a size
	groups int         // of norms; 0: no norms
}

// tinySizes are sizes that both halves share.
type tinySizes struct{ latent, channels, patch, spatial int }

func (s tinySizes) String() string {
	return fmt.Sprintf("%d latent channels, %d of pixels and cells of %dx%[3]d pixels", s.latent, s.channels, s.spatial)
}

// tinyMost is the largest number of pixels along a cell's side.
const tinyMost = 64

// readTiny reads a half. A number without tensors is ReLU if it follows a convolution
// with a bias, except at the end, and enlargement if it follows a decoder's blocks.
// Convolutions without a bias change the size, and so do those at an encoder's start that
// are followed by ReLU. An encoder whose first number has no tensors reads patches of
// pixels; a decoder makes patches if its last convolution has more channels than a pixel.
func readTiny(t tensors, half string) (h tinyHalf, err error) {
	wrong := func(format string, args ...any) (tinyHalf, error) {
		return h, fmt.Errorf("vae: %s: the %s has %s", t.file.Name(), half, fmt.Sprintf(format, args...))
	}
	for i, last := 0, -1; i <= last+2; i++ {
		at := tinyLayer{at: i}
		weight := at.name(half) + ".weight"
		if at.block = t.has(at.name(half) + ".conv.0.weight"); at.block {
			weight = at.name(half) + ".conv.0.weight"
		} else if !t.has(weight) {
			continue
		}
		if at.out, err = t.dim(weight, 0, 4); err != nil {
			return h, err
		}
		at.bias, at.pool = t.has(at.name(half)+".bias"), t.has(at.name(half)+".pool.0.weight")
		h.layers, last = append(h.layers, at), i
	}
	if h.layers == nil {
		return h, nil
	}
	first, end := h.layers[0], h.layers[len(h.layers)-1]
	if first.at == end.at || first.block || end.block || !first.bias || !end.bias {
		return wrong("layers %d to %d, expected convolutions with a bias first and last", first.at, end.at)
	}
	in, err := t.dim(first.name(half)+".weight", 1, 4)
	if err != nil {
		return h, err
	}
	pixel := in
	h.latent, h.spatial = end.out, 1
	if half == "decoder" {
		h.latent, pixel = in, end.out
	}
	blocks := 0
	for i := range h.layers {
		at := &h.layers[i]
		at.relu = at.bias && at.at != end.at && h.layers[i+1].at > at.at+1
		at.resizes = !at.block && (!at.bias || half == "encoder" && at.relu && first.at == 0)
		if at.resizes {
			h.spatial *= 2
		}
		if blocks++; !at.block {
			blocks = 0
		}
		h.blocks = max(h.blocks, blocks)
		if i == 0 || at.resizes {
			h.widths = append(h.widths, at.out)
		}
		if at.pool {
			h.groups = tinyGroups
		}
		if at.pool && half == "decoder" && h.spatial > 1 || at.resizes && half == "encoder" && h.groups > 0 {
			return wrong("pools outside of the latent's size (layer %d), expected them there", at.at)
		}
		if at.pool && 4*at.out > tinyNormed || h.spatial > tinyMost {
			return wrong("layer %d of %d channels behind %d that change the size, expected at most %d channels where it pools, and cells of %d pixels", at.at, at.out, len(h.widths)-1, tinyNormed/4, tinyMost)
		}
	}
	if h.spatial == 1 {
		return wrong("no layer that changes the size, expected one at least")
	}
	var ok bool
	if h.channels, h.patch, ok = tinyPixel(pixel); !ok || h.spatial*h.patch > tinyMost {
		return wrong("%d channels of pixels, expected 3 or 4 in patches of up to %d pixels along a side", pixel, tinyMost/h.spatial)
	}
	h.spatial *= h.patch
	return h, nil
}

// Norms of pooling blocks: their groups, and the largest number of channels.
const (
	tinyGroups = 4
	tinyNormed = 1024
)

// tinyPixel splits n channels into a pixel's channels and the side of a patch.
func tinyPixel(n int) (channels, patch int, ok bool) {
	for _, channels := range []int{3, 4} {
		for patch := 1; channels*patch*patch <= n; patch++ {
			if channels*patch*patch == n {
				return channels, patch, true
			}
		}
	}
	return 0, 0, false
}

// tinyModel is a published tiny autoencoder, and the one of klModels whose VAE it
// approximates; "" if that is of another family or not supported.
type tinyModel struct {
	name  string
	sizes tinySizes
	word  string // in a file's name, for models of equal sizes; the last of them has none
	of    string

	other latent.Checkpoint // or the model of another family
}

var tinyModels = []tinyModel{
	{"TAESDXL", tinySizes{4, 3, 1, 8}, "xl", "sdxl", latent.Checkpoint{}},
	{"TAESD", tinySizes{4, 3, 1, 8}, "", "sd", latent.Checkpoint{}},
	{"TAESD3", tinySizes{16, 3, 1, 8}, "sd3", "sd3", latent.Checkpoint{}},
	{"TAEF1", tinySizes{16, 3, 1, 8}, "", "flux", latent.Checkpoint{}},
	{"TAEF2", tinySizes{32, 3, 1, 8}, "", "", latent.Checkpoint{Family: flux2, Model: "FLUX.2"}},
	{"TAESana", tinySizes{32, 3, 1, 32}, "", "", latent.Checkpoint{}},
	{"TAEQI2.1", tinySizes{64, 4, 2, 16}, "", "", latent.Checkpoint{Family: qwen21, Model: publishedQwen21.Model}},
}

// nameTiny identifies the model by its sizes, and among models of equal sizes by the
// file's name, or by its folder if the file's name is generic. It also sets the
// statistics of the VAE that the model approximates.
func nameTiny(c *Config, path string) {
	c.Model, c.pipeline = "tiny autoencoder", true
	file := strings.ToLower(filepath.Base(path))
	if !strings.Contains(file, "tae") {
		file = strings.ToLower(filepath.Base(filepath.Dir(path)))
	}
	for _, m := range tinyModels {
		if m.sizes != (tinySizes{c.Latent, c.Channels, c.Patch, c.Spatial}) || !strings.Contains(file, m.word) {
			continue
		}
		for _, vae := range klModels {
			if vae.as == m.of {
				vae.take(c)
			}
		}
		if m.other.Family == qwen21 {
			c.standardise(qwen21Mean, qwen21Std)
		}
		c.Model, c.unpacks = m.name, m.other.Family == flux2
		return
	}
}

// standsFor returns the model whose latents equal those of made: for a tiny autoencoder
// the VAE that it approximates.
func standsFor(made latent.Checkpoint) latent.Checkpoint {
	for _, m := range tinyModels {
		if made.Family == taesd && made.Model == m.name && m.other != (latent.Checkpoint{}) {
			return m.other
		}
		for _, vae := range klModels {
			if made.Family == taesd && made.Model == m.name && vae.as == m.of {
				return latent.Checkpoint{Family: kl, Model: vae.name}
			}
		}
	}
	for _, m := range taehvModels {
		if made.Family == taehv && made.Model == m.name && m.of != (latent.Checkpoint{}) {
			return m.of
		}
	}
	if made.Family == wan21 && made.Model == "Qwen-Image" { // the same statistics, and TAEHV
		made.Model = publishedWan21.Model
	}
	return latent.Checkpoint{Family: made.Family, Model: made.Model}
}
