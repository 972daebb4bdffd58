//go:build !js

package runner

import (
	"errors"

	"tessera/engine"
	"tessera/temporary"
)

// newSpool creates a temporary file.
func newSpool(size int64) (engine.Spool, error) {
	f, err := temporary.Open("blend")
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(size); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
