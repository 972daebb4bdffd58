package desktop

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tessera/temporary"
)

// modelFile returns the path of the file that stores the last checkpoint's path.
func modelFile() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "tessera", "last-model.txt"), err
}

// KeepModel stores a checkpoint's path for latents that are dragged onto the program.
func KeepModel(model string) error {
	file, err := modelFile()
	if err != nil {
		return err
	}
	if model, err = filepath.Abs(model); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	temp, err := temporary.Create(filepath.Dir(file), "."+filepath.Base(file), 0o600)
	if err != nil {
		return err
	}
	if _, err = temp.WriteString(model + "\n"); err == nil {
		err = temporary.Publish(temp, file)
	}
	if err != nil {
		temp.Close()
		os.Remove(temp.Name())
	}
	return err
}

// Model returns the stored path, "" without one or if its file is gone.
func Model() (string, error) {
	file, err := modelFile()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	model := strings.TrimRight(string(text), "\r\n")
	if _, gone := os.Stat(model); errors.Is(gone, fs.ErrNotExist) {
		return "", err
	}
	return model, err
}
