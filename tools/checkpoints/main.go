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
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"tessera/tests/synthetic"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: checkpoints DIR")
		os.Exit(2)
	}
	err := create(os.Args[1], map[string]synthetic.WanConfig{
		"wan":            {Dim: 8},
		"published":      {},
		"wan22":          {Nested: true, Dim: 8, Decoder: 16},
		"qwen_image_vae": {Dim: 12},
		"layered":        {Dim: 12, Channels: 4},
	})
	small := []int{32, 32, 32, 32}
	for name, c := range map[string]synthetic.KLConfig{"sdxl": {Quant: true, Widths: small}, "flux2_vae": {Flux2: true, Widths: small}, "sd": {Quant: true}} {
		if err == nil {
			err = synthetic.CreateKL(filepath.Join(os.Args[1], name+".safetensors"), c)
		}
	}
	if err == nil {
		err = synthetic.CreateTAEHV(filepath.Join(os.Args[1], "taew2_1.safetensors"), synthetic.TAEHVConfig{Encoder: 8, Decoder: []int{16, 8, 8, 8}})
	}
	if err == nil {
		err = synthetic.CreateTAESD(filepath.Join(os.Args[1], "taesd.safetensors"), synthetic.TAESDConfig{Name: func(name string) string { return "taesd_" + name }})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "checkpoints:", err)
		os.Exit(1)
	}
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
