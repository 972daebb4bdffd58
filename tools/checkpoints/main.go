// Command checkpoints writes checkpoints of made-up weights into a folder, for
// tests of other languages' clients: wan.safetensors and wan22.safetensors, and
// qwen_image_vae.safetensors and layered.safetensors, which are read as Qwen-Image's;
// and published.safetensors, of the published Wan 2.1's size, 254 MB.
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
	for name, c := range map[string]synthetic.WanConfig{
		"wan":            {Dim: 8},
		"published":      {},
		"wan22":          {Nested: true, Dim: 8, Decoder: 16},
		"qwen_image_vae": {Dim: 12},
		"layered":        {Dim: 12, Channels: 4},
	} {
		if err := synthetic.CreateWan(filepath.Join(os.Args[1], name+".safetensors"), c); err != nil {
			fmt.Fprintln(os.Stderr, "checkpoints:", err)
			os.Exit(1)
		}
	}
}
