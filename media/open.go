//go:build !js

package media

import (
	"context"
	"os"
)

// Open opens the video at path: a folder of PNG files, .png, .y4m, .npy,
// .safetensors, or anything ffmpeg reads. ctx bounds the opening, which for
// ffmpeg means decoding the whole clip into a temporary file.
//
// Floats may lie outside [-1,1], and are handed on as they are.
func Open(ctx context.Context, path string) (Clip, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, badInput(path, err)
	}
	if info.IsDir() {
		return openFolder(path)
	}
	if !info.Mode().IsRegular() {
		return nil, badInputf(path, "is neither a file nor a folder")
	}
	if info.Size() == 0 {
		return nil, badInputf(path, "file is empty")
	}
	switch extension(path) {
	case ".png":
		return openPNGs([]string{path})
	case ".y4m":
		return openY4M(path)
	case ".npy", ".safetensors":
		return openFloats(path)
	case ".latent":
		return nil, badInputf(path, "is a latent, expected a video")
	}
	return openFFmpeg(ctx, path)
}
