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

// redirect makes a file that only this user can read and that leads to url. A
// browser is given its name, since what is in a program's arguments all users
// see, and url has the token. It stands until it is removed, which may be asked
// for again, and no longer than a browser may take.
func redirect(url string) (path string, remove func(), err error) {
	dir, err := temporary.Mkdir(os.TempDir(), "tessera-open", 0o700)
	if err != nil {
		return "", nil, fmt.Errorf("serve: %w", err)
	}
	remove = sync.OnceFunc(func() {
		dir.Close() // Windows removes no folder that is open
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
