package flags

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tessera/app/job"
	"tessera/app/terminal"
	"tessera/format/safetensors"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// TrainerCache writes latents as trainers store them: in a file and a tensor with the
// names that the trainer looks for.
type TrainerCache struct {
	Cache       string `group:"latents" enum:"musubi,none" default:"none" placeholder:"TRAINER" help:"Write a trainer's latent cache: musubi (musubi-tuner). The trainer's suffix is added to --output's name."`
	LatentName  string `group:"latents" placeholder:"NAME" help:"Name of the file in --output's folder. Placeholders: {name} is --output's name without its extension, {frames}, {height}, {width} the video's, {T}, {H}, {W} the latent's; {frames:3} has at least three digits."`
	LatentKey   string `group:"latents" placeholder:"KEY" help:"Name of the tensor in the file, with the same placeholders and {dtype}; default latent."`
	LatentDtype string `group:"latents" enum:"float32,bfloat16,float16,default" default:"default" placeholder:"DTYPE" help:"Type of the tensor: float32, bfloat16 or float16; default float32, for musubi bfloat16."`
}

// Asked reports whether any of these flags is given.
func (f TrainerCache) Asked() bool {
	return f.Cache != "none" || f.LatentName != "" || f.LatentKey != "" || f.LatentDtype != "default"
}

// Validate refuses invalid file names.
func (f TrainerCache) Validate() error {
	if strings.ContainsAny(f.LatentName, `/\`) {
		return fmt.Errorf("--latent-name=%s: expected a name without a folder, which is --output's", f.LatentName)
	}
	for flag, text := range map[string]string{"name": f.LatentName, "key": f.LatentKey} {
		if _, err := filled(text, placeholders(job.Encoding{}, "", "")); err != nil {
			return fmt.Errorf("--latent-%s: %w", flag, err)
		}
	}
	return nil
}

// CachedLatent is a latent's file and what is in it.
type CachedLatent struct {
	Path  string
	key   string
	dtype safetensors.DType
	meta  map[string]string
}

var latentTypes = map[string]safetensors.DType{"float32": safetensors.F32, "bfloat16": safetensors.BF16, "float16": safetensors.F16}

// CachedLatent returns where and how to write the latent of an encoding.
func (f TrainerCache) CachedLatent(c vae.Config, e job.Encoding, output string) (*CachedLatent, error) {
	if ext := strings.ToLower(filepath.Ext(output)); ext != ".safetensors" {
		return nil, terminal.Refused("--output=%s: extension %q, expected .safetensors for a cache", output, ext)
	}
	name, key, dtype := cmp.Or(f.LatentName, "{name}"), cmp.Or(f.LatentKey, "latent"), f.LatentDtype
	var meta map[string]string
	if f.Cache == "musubi" {
		m, err := musubiOf(c, e)
		if err != nil {
			return nil, err
		}
		name, key, meta = cmp.Or(f.LatentName, m.name), cmp.Or(f.LatentKey, m.key), m.meta
		if dtype == "default" {
			dtype = "bfloat16"
		}
	}
	if dtype == "default" {
		dtype = "float32"
	}
	base := strings.TrimSuffix(filepath.Base(output), filepath.Ext(output))
	values := placeholders(e, base, dtype)
	file, err := filled(strings.TrimSuffix(name, ".safetensors"), values)
	if err != nil {
		return nil, err
	}
	k := &CachedLatent{Path: filepath.Join(filepath.Dir(output), file+".safetensors"), dtype: latentTypes[dtype], meta: meta}
	k.key, err = filled(key, values)
	return k, err
}

// Write writes the latent.
func (k *CachedLatent) Write(z latent.Latent) error {
	z.Meta = maps.Clone(z.Meta)
	maps.Copy(z.Meta, k.meta)
	return media.WriteLatentAs(k.Path, k.key, k.dtype, z)
}

// placeholders returns the values of the placeholders in names.
func placeholders(e job.Encoding, name, dtype string) map[string]any {
	return map[string]any{
		"name": name, "dtype": dtype, "frames": e.Clip.Frames, "height": e.Clip.Height, "width": e.Clip.Width,
		"T": e.Latent.Frames, "H": e.Latent.Height, "W": e.Latent.Width,
	}
}

var placeholder = regexp.MustCompile(`\{([^{}:]*)(?::(\d{1,2}))?\}`)

// filled replaces the placeholders in text.
func filled(text string, values map[string]any) (string, error) {
	var unknown error
	text = placeholder.ReplaceAllStringFunc(text, func(whole string) string {
		m := placeholder.FindStringSubmatch(whole)
		switch v := values[m[1]].(type) {
		case string:
			return v
		case int:
			digits, _ := strconv.Atoi(m[2])
			return fmt.Sprintf("%0*d", digits, v)
		}
		unknown = fmt.Errorf("%s is unknown, expected {name}, {frames}, {height}, {width}, {T}, {H}, {W} or, in a key, {dtype}", whole)
		return ""
	})
	return text, unknown
}

// musubi is what musubi-tuner's dataset looks for (src/musubi_tuner/dataset): a file
// whose name ends with the video's frames and size, and a tensor with the given name,
// followed by size and type.
type musubi struct {
	name, key string
	meta      map[string]string
}

// musubiSides divides the sides of its buckets, in pixels.
const musubiSides = 16

// musubiOf returns the names for an encoding, if the trainer supports the model and the
// clip.
func musubiOf(c vae.Config, e job.Encoding) (*musubi, error) {
	short, full := map[string]string{"Wan 2.1": "wan", "Qwen-Image": "qi"}[c.Model], map[string]string{"Wan 2.1": "wan", "Qwen-Image": "qwen_image"}[c.Model]
	f := e.Clip
	switch {
	case short == "":
		return nil, job.BadInput("--cache=musubi: the checkpoint is of %s, expected Wan 2.1 or Qwen-Image", c.Model)
	case e.Options.Unscaled:
		return nil, terminal.Refused("--cache=musubi with --scale=none or --moments, expected neither: the trainer reads scaled latents")
	case f.Height%musubiSides != 0 || f.Width%musubiSides != 0:
		return nil, job.BadInput("--cache=musubi: a video of %dx%d, expected sides in multiples of %d, those of the trainer's bucket", f.Width, f.Height, musubiSides)
	case f.Frames > 1 && e.Options.Independent:
		return nil, job.BadInput("--cache=musubi: %d frames, expected one picture for %s", f.Frames, c.Model)
	case e.Padded.Frames != f.Frames:
		return nil, job.BadInput("--cache=musubi: %d frames, expected 1, 5, 9 and so on", f.Frames)
	}
	m := &musubi{name: "{name}_{width:4}x{height:4}_" + short, key: "latents_{T}x{H}x{W}_{dtype}", meta: map[string]string{
		"architecture": full, "width": strconv.Itoa(f.Width), "height": strconv.Itoa(f.Height), "format_version": "1.0.1",
	}}
	if f.Frames > 1 {
		m.name = "{name}_00000-{frames:3}_{width:4}x{height:4}_" + short
		m.meta["frame_count"] = strconv.Itoa(f.Frames)
	}
	return m, nil
}
