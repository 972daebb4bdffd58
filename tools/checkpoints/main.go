// Command checkpoints writes checkpoints with random weights into a folder, for tests
// of clients in other languages:
//
// wan.safetensors and wan22.safetensors; qwen_image_vae.safetensors and
// layered.safetensors, which Tessera reads as Qwen-Image's; published.safetensors, of
// the published Wan 2.1's size, 254 MB; taew2_1.safetensors, a tiny autoencoder for
// previews of Wan 2.1; and for pictures sdxl.safetensors, flux2_vae.safetensors,
// sd.safetensors of Stable Diffusion's size, 167 MB, and taesd.safetensors in ComfyUI's
// form.
//
//	go run ./tools/checkpoints DIR
//	go run ./tools/checkpoints DIR wan22_published   only this one, of 1.4 GB
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tessera/tests/synthetic"
)

// large are written only by name.
var large = map[string]synthetic.WanConfig{"wan22_published": {Nested: true}}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: checkpoints DIR [NAME...]")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "checkpoints:", err)
		os.Exit(1)
	}
}

// write writes the named large checkpoints, or without names all others.
func write(folder string, names []string) error {
	if len(names) > 0 {
		some := map[string]synthetic.WanConfig{}
		for _, name := range names {
			c, ok := large[name]
			if !ok {
				return fmt.Errorf("no large checkpoint %s, expected one of %v", name, slices.Sorted(maps.Keys(large)))
			}
			some[name] = c
		}
		return create(folder, some)
	}
	err := create(folder, map[string]synthetic.WanConfig{
		"wan":            {Dim: 8},
		"published":      {},
		"wan22":          {Nested: true, Dim: 8, Decoder: 16},
		"qwen_image_vae": {Dim: 12},
		"layered":        {Dim: 12, Channels: 4},
	})
	if err != nil {
		return err
	}
	small := []int{32, 32, 32, 32}
	for name, c := range map[string]synthetic.KLConfig{"sdxl": {Quant: true, Widths: small}, "flux2_vae": {Flux2: true, Widths: small}, "sd": {Quant: true}} {
		if err := synthetic.CreateKL(filepath.Join(folder, name+".safetensors"), c); err != nil {
			return err
		}
	}
	if err := synthetic.CreateTAEHV(filepath.Join(folder, "taew2_1.safetensors"), synthetic.TAEHVConfig{Encoder: 8, Decoder: []int{16, 8, 8, 8}}); err != nil {
		return err
	}
	return synthetic.CreateTAESD(filepath.Join(folder, "taesd.safetensors"), synthetic.TAESDConfig{Name: func(name string) string { return "taesd_" + name }})
}

// create writes checkpoints into a folder, which it creates if necessary.
func create(folder string, all map[string]synthetic.WanConfig) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for name, c := range all {
		if err := synthetic.CreateWan(filepath.Join(folder, name+".safetensors"), c); err != nil {
			return err
		}
	}
	return nil
}
