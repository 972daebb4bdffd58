// Package web embeds the built page in the program. tools/web.sh builds the page's
// sources in this folder, with the engine as wasm, into dist. Serve Page with any file
// server:
//
//	page, err := web.Page()
//	http.Handle("/", http.FileServerFS(page))
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

// Page returns the page's folder, with index.html and all that it needs.
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
