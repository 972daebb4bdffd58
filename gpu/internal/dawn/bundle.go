//go:build !js

package dawn

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"tessera/temporary"
)

// bundled matches the folders into which bundles are unpacked.
var bundled = regexp.MustCompile(`^dawn-[0-9a-f]{16}$`)

// unused is how long an unpacked bundle is kept after its last use.
const unused = 30 * 24 * time.Hour

// loadBundle loads the bundled library from the user's cache. If the cache cannot hold
// it, or must not hold programs, loadBundle loads it from a temporary folder.
func loadBundle() (*library, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		var l *library
		if l, err = loadUnpacked(filepath.Join(cache, "tessera", "dawn")); err == nil {
			return l, nil
		}
	}
	folder, terr := temporary.Mkdir(os.TempDir(), "tessera-dawn", 0o700)
	if terr != nil {
		return nil, errors.Join(err, terr)
	}
	defer func() {
		folder.Close()
		os.RemoveAll(folder.Name()) // the library stays loaded; on Windows its file stays until a later sweep
	}()
	l, terr := loadUnpacked(folder.Name())
	if terr != nil {
		return nil, fmt.Errorf("%w; nor from a temporary folder: %w", err, terr)
	}
	return l, nil
}

// loadUnpacked unpacks the bundle into a folder of dir and loads the first of its
// libraries that this system can load.
func loadUnpacked(dir string) (*library, error) {
	files, err := zip.NewReader(strings.NewReader(bundle), int64(len(bundle)))
	if err != nil {
		return nil, err
	}
	unpacked := map[string]string{}
	for _, f := range files.File {
		target := filepath.Join(dir, filepath.FromSlash(f.Name)) // #nosec G305 -- our own
		if err := unpack(f, target); err != nil {
			return nil, err
		}
		unpacked[path.Base(f.Name)] = target
	}
	var passed []string
	for _, name := range names() {
		library, there := unpacked[name]
		if !there {
			continue
		}
		_ = os.Chtimes(filepath.Dir(library), time.Time{}, time.Now())
		l, err := place{path: library}.load()
		if err == nil {
			l.passed = passed
			return l, nil
		}
		passed = append(passed, fmt.Sprintf("%s: %v", library, err))
	}
	return nil, errors.New(strings.Join(passed, "; "))
}

// unpack writes a file of the bundle to target, unless it is there. Several processes
// may do so at once.
func unpack(f *zip.File, target string) error {
	there := func() bool {
		info, err := os.Lstat(target)
		return err == nil && info.Mode().IsRegular() && info.Size() == int64(f.UncompressedSize64)
	}
	if there() {
		return nil
	}
	dir := filepath.Dir(target)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temporary.Sweep(dir)
	removeUnused(filepath.Dir(dir))
	out, err := temporary.Create(dir, ".dawn", 0o700)
	if err != nil {
		return err
	}
	if err := errors.Join(copyFile(out, f), out.Sync()); err != nil {
		out.Close()
		os.Remove(out.Name())
		return err
	}
	if err := temporary.Publish(out, target); err != nil {
		os.Remove(out.Name())
		if !there() { // else another process was faster and has the file open
			return err
		}
	}
	return nil
}

// copyFile writes a file of the bundle and verifies its checksum.
func copyFile(to io.Writer, f *zip.File) error {
	from, err := f.Open()
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(to, from) // #nosec G110 -- our own
	return err
}

// removeUnused removes unpacked bundles of other program versions that are no longer
// used.
func removeUnused(dir string) {
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if info, err := e.Info(); err == nil && bundled.MatchString(e.Name()) && time.Since(info.ModTime()) > unused {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}
