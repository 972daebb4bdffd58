// Package assets embeds the small trained model and the clip of the demo in the program.
// README.md describes them and names whom to credit. Start at Extract.
package assets

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Note compares the model's size with the SeedVR2 VAE. Pictures made with the model
// carry the note, so that its blur is not mistaken for the engine's.
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
