package media

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Target returns the name under which an output called path is created: absolute, with
// links followed as the system does, including the last one. Compare other files with
// this name. It fails for an empty path, a missing folder, and a link without a target.
func Target(path string) (string, error) {
	if path == "" {
		return "", badOutput("media: output has no name")
	}
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		return absolute(path, resolved)
	}
	if info, lerr := os.Lstat(path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", badOutput("media: %s: is a broken link, expected a link to a file or folder: %w", path, err)
	}
	// The file is new, but its folder exists. A name before .. may be a link, so links
	// are followed before the path is cleaned.
	dir, base := filepath.Split(trimSlashes(path))
	if dir == "" {
		dir = "."
	}
	switch parent, err := filepath.EvalSymlinks(dir); {
	case err == nil:
		return absolute(path, filepath.Join(parent, base))
	case errors.Is(err, fs.ErrNotExist):
		return "", badOutput("media: %s: folder %s doesn't exist", path, trimSlashes(dir))
	}
	return absolute(path, path) // a file system that does not say
}

// trimSlashes removes separators at the end of path.
func trimSlashes(path string) string {
	return strings.TrimRightFunc(path, func(r rune) bool { return r < utf8.RuneSelf && os.IsPathSeparator(uint8(r)) })
}

func absolute(path, resolved string) (string, error) {
	target, err := filepath.Abs(resolved)
	if err != nil {
		return "", fmt.Errorf("media: %s: %w", path, err)
	}
	return target, nil
}
