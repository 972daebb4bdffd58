//go:build !windows

package desktop

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"sync"
	"time"

	"tessera/temporary"
)

// pageLife is how long a browser may take to start.
const pageLife = time.Minute

// redirect writes a file that leads to url and that only this user can read. The browser
// gets the file's name, because all users can see a program's arguments and url contains
// the token. The file exists until remove is called, at most as long as a browser may
// take to start. remove may be called again.
func redirect(url string) (path string, remove func(), err error) {
	dir, err := temporary.Mkdir(os.TempDir(), "tessera-open", 0o700)
	if err != nil {
		return "", nil, fmt.Errorf("serve: %w", err)
	}
	remove = sync.OnceFunc(func() {
		dir.Close() // Windows does not remove an open folder
		os.RemoveAll(dir.Name())
	})
	path = filepath.Join(dir.Name(), "tessera.html")
	link := html.EscapeString(url)
	text := `<!doctype html><meta charset="utf-8"><title>Tessera</title><meta http-equiv="refresh" content="0;url=` + link + `"><a href="` + link + `">Tessera</a>`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		remove()
		return "", nil, fmt.Errorf("serve: %w", err)
	}
	time.AfterFunc(pageLife, remove)
	return path, remove, nil
}

// OpenPage opens the page in the browser.
func OpenPage(url string) (remove func(), err error) {
	path, remove, err := redirect(url)
	if err != nil {
		return func() {}, err
	}
	if err := browse(path); err != nil {
		remove()
		return remove, err
	}
	return remove, nil
}
