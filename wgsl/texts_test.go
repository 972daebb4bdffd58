package wgsl

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Every shader of this folder is in the table, under its own name.
func TestTexts(t *testing.T) {
	var files []string
	for _, pattern := range []string{"*.wgsl", "shared/*.wgsl"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skip("the shaders' files are not here")
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := text(filepath.ToSlash(file)); !ok || got != string(want) {
			t.Errorf("%s: not in the table, or another file's text is there", file)
		}
	}
	for _, entry := range texts {
		if !slices.Contains(files, filepath.FromSlash(entry.file)) {
			t.Errorf("%s is in the table and not in the folder", entry.file)
		}
	}
}
