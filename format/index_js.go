package format

import (
	"fmt"
	"os"
)

// A page has no folder with shards.

func openIndex(_ *os.File, path string) (File, error) {
	return nil, fmt.Errorf("format: %s: is an index", path)
}

func inside(_ string, err error) error { return err }

func IndexOf(string) (index string, n int, beside bool) { return "", 0, false }
