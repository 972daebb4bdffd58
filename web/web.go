// Package web carries the built page inside the program. The page's sources are
// beside this file; tools/web.sh builds them, with the engine as wasm, into dist.
package web

import (
	"embed"
	"errors"
	"io/fs"
)

// The pattern also has dist.txt, which is always there: without a page the
// program builds, too.
//
//go:embed dist*
var files embed.FS

// ErrNotBuilt: the program was built without the page.
var ErrNotBuilt = errors.New("web: the page is not part of this program: released ones have it; in a checkout run tools/web.sh, then build again")

// Page is the page's folder: index.html and all that it needs.
func Page() (fs.FS, error) {
	page, err := fs.Sub(files, "dist")
	if err != nil {
		return nil, err
	}
	if _, err := fs.Stat(page, "index.html"); err != nil {
		return nil, ErrNotBuilt
	}
	return page, nil
}
