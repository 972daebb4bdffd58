package temporary

import (
	"errors"
	"io/fs"
	"os"
)

// A browser has no files.

// Create fails.
func Create(string, string, fs.FileMode) (*os.File, error) { return nil, errors.ErrUnsupported }

// Publish fails.
func Publish(*os.File, string) error { return errors.ErrUnsupported }
