//go:build !js

package vae

import (
	"io"
	"path/filepath"
	"strings"

	"tessera/format/file"
)

// qwenConfig is whether the config.json beside a file, as diffusers writes it,
// is that of Qwen-Image's VAE.
func qwenConfig(path string) bool {
	f, _, err := file.Open(filepath.Join(filepath.Dir(path), "config.json"))
	if err != nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	return err == nil && strings.Contains(string(text), "AutoencoderKLQwenImage")
}
