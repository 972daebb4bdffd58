// Package assets carries the small trained model and the clip of the demo
// inside the program. README.md says what they are and whom to credit.
package assets

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Note says how small the model is beside the SeedVR2 VAE that it stands for. What is
// made with it carries the note, so that nobody takes its blur for the engine's.
const Note = "tiny demo model, 2.6 M of 250 M numbers"

//go:embed tiny-seedvr2.safetensors demo/*.png
var files embed.FS

// Extract writes the model and the folder of frames into dir.
func Extract(dir string) (model, clip string, err error) {
	model, clip = filepath.Join(dir, "tiny-seedvr2.safetensors"), filepath.Join(dir, "demo")
	if err := os.CopyFS(dir, fs.FS(files)); err != nil {
		return "", "", fmt.Errorf("assets: %w", err)
	}
	return model, clip, nil
}
