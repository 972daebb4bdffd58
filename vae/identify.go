//go:build !js

package vae

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"tessera/format"
	"tessera/format/file"
)

// diffusersConfig is the part of a checkpoint's config.json, as diffusers writes it, that
// is about latents.
type diffusersConfig struct {
	Class  string    `json:"_class_name"`
	Wan    int       `json:"z_dim"`
	Latent int       `json:"latent_channels"`
	Mean   []float64 `json:"latents_mean"`
	Std    []float64 `json:"latents_std"`
	Factor *float64  `json:"scaling_factor"`
	Shift  *float64  `json:"shift_factor"`
}

// identified identifies a checkpoint at path by the config.json beside it, else by its
// size and hash.
func (c *Config) identified(path string, size int64) error {
	told, err := c.statisticsBeside(path)
	if told || err != nil {
		return err
	}
	return c.published(size, func() (string, error) {
		whole, err := format.ReadContents(path)
		if err != nil {
			return "", fmt.Errorf("vae: %w", err)
		}
		defer whole.Close()
		h := sha256.New()
		if _, err := io.Copy(h, io.NewSectionReader(whole, 0, whole.Size())); err != nil {
			return "", fmt.Errorf("vae: %s: %w", path, err)
		}
		return hex.EncodeToString(h.Sum(nil)), nil
	})
}

// statisticsBeside uses the statistics in the config.json beside a checkpoint instead of
// the published ones. It ignores a config.json of another class, or one without a class
// and with other channels. If the statistics are those of a model with the checkpoint's
// tensors, they identify that model.
func (c *Config) statisticsBeside(path string) (told bool, err error) {
	name := ConfigBeside(path)
	text, err := file.Text(configBeside(path))
	if err != nil {
		return false, fmt.Errorf("vae: %s: %w", name, err)
	}
	var d diffusersConfig
	err = json.Unmarshal(text, &d)
	classes := c.family().classes
	if err != nil && slices.ContainsFunc(classes, func(class string) bool { return strings.Contains(string(text), class) }) {
		return false, fmt.Errorf("vae: %s: %w", name, err)
	}
	own := slices.Contains(classes, d.Class) || d.Class == "" && slices.Contains([]int{0, c.Latent}, max(d.Wan, d.Latent))
	if err != nil || !own || c.Packed || d.Mean == nil && d.Std == nil && d.Factor == nil && d.Shift == nil {
		return false, nil
	}
	if c.pipeline {
		if err := d.unscaled(); err != nil && d.Class != "" {
			return false, fmt.Errorf("vae: %s: %w", name, err)
		}
		return false, nil
	}
	mean, scale, err := d.statistics(c)
	if err != nil {
		return false, fmt.Errorf("vae: %s: %w", name, err)
	}
	c.Assumed = false
	for _, m := range c.alike() {
		other := *c
		if m.take(&other); nearly(mean, other.Mean) && nearly(scale, other.Scale) {
			*c = other
			return true, nil
		}
	}
	if !nearly(mean, c.Mean) || !nearly(scale, c.Scale) {
		c.Mean, c.Scale, c.Beside = mean, scale, name
		if sigma := c.family().sigma; sigma > 0 {
			c.Frames, c.Sigma = len(mean)/c.Latent, sigma
		}
	}
	return true, nil
}

// unscaled refuses factors for a tiny autoencoder, whose network has a pipeline's
// numbers.
func (d diffusersConfig) unscaled() error {
	if d.Factor != nil && *d.Factor != 1 {
		return fmt.Errorf("scaling_factor is %g, expected 1 for a tiny autoencoder: its latents are scaled already", *d.Factor)
	}
	if d.Shift != nil && *d.Shift != 0 {
		return fmt.Errorf("shift_factor is %g, expected 0 for a tiny autoencoder: its latents are scaled already", *d.Shift)
	}
	return nil
}

// statistics returns the mean and scale of a model's latents.
func (d diffusersConfig) statistics(c *Config) (mean, scale []float64, err error) {
	f := c.family()
	n, want := c.Latent, fmt.Sprintf("one for each of %d channels", c.Latent)
	if f.sigma > 0 { // each channel has numbers for its first latent frames
		n *= max(1, len(d.Mean)/n, len(d.Std)/n)
		want = fmt.Sprintf("%d for each of %d channels", n/c.Latent, c.Latent)
	}
	mean, scale = make([]float64, n), slices.Repeat([]float64{1}, n)
	if f.measured {
		d.Mean, d.Std = nil, nil
		if c.Scale != nil {
			mean, scale = slices.Clone(c.Mean), slices.Clone(c.Scale)
		}
	}
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	for key, list := range map[string][]float64{"latents_mean": d.Mean, "latents_std": d.Std} {
		if list != nil && len(list) != n {
			return nil, nil, fmt.Errorf("%s has %d numbers, expected %s", key, len(list), want)
		}
	}
	copy(mean, d.Mean)
	for i, std := range d.Std {
		if scale[i] = 1 / std; std <= 0 || !finite(scale[i]) {
			return nil, nil, fmt.Errorf("latents_std has %g, expected positive numbers", std)
		}
	}
	if f.sigma > 0 {
		d.Factor = &f.sigma
	}
	if d.Factor != nil {
		for i := range scale {
			scale[i] *= *d.Factor
		}
		if !(*d.Factor > 0) {
			return nil, nil, fmt.Errorf("scaling_factor is %g, expected a positive number", *d.Factor)
		}
	}
	if d.Shift != nil {
		for i := range mean {
			mean[i] += *d.Shift
		}
	}
	return mean, scale, nil
}

// nearly compares statistics, which some files store with fewer digits.
func nearly(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*max(1, math.Abs(y)) })
}

// IdentifyFile is Identify for the checkpoint at path, and for the files that an index
// names.
func (c *Config) IdentifyFile(path string) error {
	whole, err := format.ReadContents(path)
	if err != nil {
		return &badModel{fmt.Errorf("vae: %w", err)}
	}
	defer whole.Close()
	return c.Identify(path, whole, whole.Size())
}

// qwenConfig reports whether the config.json beside a file is that of Qwen-Image's VAE.
func qwenConfig(path string) bool {
	return strings.Contains(string(configBeside(path)), "AutoencoderKLQwenImage")
}

// ConfigBeside returns the path of a checkpoint's config.json, which need not exist.
func ConfigBeside(path string) string { return filepath.Join(filepath.Dir(path), "config.json") }

// configBeside reads the config.json beside a file; nil without one.
func configBeside(path string) []byte {
	f, _, err := file.Open(ConfigBeside(path))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return nil
	}
	return text
}
