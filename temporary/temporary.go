//go:build !js

// Package temporary makes temporary files and folders that can be distinguished from
// those of a program that has ended: Sweep removes what a killed program left, and
// nothing else.
//
// Their names end in .tmp-HOST-RANDOM. While in use they are locked by the process, or on
// Windows open; both end with the process, however it ends, so neither reused process
// numbers nor clocks matter. HOST stands for the machine and the user, because a disk may
// be shared.
//
// Start at Create, Mkdir and Open, and at Sweep. Lock is for a folder that stays.
//
//	f, err := temporary.Create(dir, ".out.mp4") // write f, then
//	err = temporary.Publish(f, filepath.Join(dir, "out.mp4"))
package temporary

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"unicode/utf8"
)

// maxStem limits the part of a name before .tmp-. A name may have 255 bytes.
const maxStem = 200

// ours matches the names of Create and Mkdir, of any machine and user. The stem is the
// name of an output after a dot, or the purpose of a file in the folder for temporary
// files.
var ours = regexp.MustCompile(`(?s)^(\..+|tessera-[a-z]+)\.tmp-([0-9a-f]{8})-[0-9a-f]{8}$`)

// host identifies this machine and user.
var host = sync.OnceValue(func() string {
	h := fnv.New32a()
	name, _ := os.Hostname()
	id, _ := os.ReadFile("/etc/machine-id")
	fmt.Fprintf(h, "%s\n%s\n%d\n%s", name, id, os.Getuid(), os.Getenv("USERNAME"))
	return fmt.Sprintf("%08x", h.Sum32())
})

// fresh makes a file or folder with an unused name in dir, and locks it. If files cannot
// be locked, the name is one that Sweep leaves alone.
func fresh(dir, stem string, create func(name string) (*os.File, error)) (*os.File, error) {
	who := host()
	if len(stem) > maxStem {
		cut := maxStem
		for cut > maxStem-utf8.UTFMax && !utf8.RuneStart(stem[cut]) {
			cut-- // some file systems accept only whole characters
		}
		stem = stem[:cut]
	}
	for {
		name := filepath.Join(dir, stem) + ".tmp-" + who + "-" + fmt.Sprintf("%08x", rand.Uint32()) // #nosec G404 -- taken names are tried again
		f, err := create(name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch err := lock(f); {
		case who != host():
			return f, nil
		case err == nil && still(f):
			return f, nil
		case err == nil, errors.Is(err, errLocked): // a sweep was faster
		default:
			who = "unlocked"
		}
		f.Close()
		os.Remove(name)
	}
}

// Locked locks a file for this process until the file is closed, and reports whether
// another process has it. Without locks it always reports false.
func Locked(f *os.File) bool { return errors.Is(lock(f), errLocked) }

// still reports whether f has its name.
func still(f *os.File) bool {
	is, err := f.Stat()
	has, nerr := os.Lstat(f.Name())
	return err == nil && nerr == nil && os.SameFile(is, has)
}

// Create makes a file in folder dir, whose name begins with stem. The caller closes and
// removes it, or calls Publish.
func Create(dir, stem string, mode fs.FileMode) (*os.File, error) {
	return fresh(dir, stem, func(name string) (*os.File, error) {
		return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
	})
}

// Mkdir makes a folder in folder dir, whose name begins with stem. It is in use until the
// returned file is closed; Name returns its path.
func Mkdir(dir, stem string, mode fs.FileMode) (*os.File, error) {
	return fresh(dir, stem, func(name string) (*os.File, error) {
		if err := os.Mkdir(name, mode); err != nil {
			return nil, err
		}
		f, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) { // a sweep was faster
			return nil, fs.ErrExist
		}
		if err != nil {
			os.Remove(name)
		}
		return f, err
	})
}

// IsLocked reports whether an error of Lock means that another process has the file.
func IsLocked(err error) bool { return errors.Is(err, errLocked) }

// Lock locks the file at path for this process until the file is closed; the file stays.
// It fails if another process has it.
func Lock(path string) (*os.File, error) {
	if err := release(path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// File is a temporary file whose name is of no use to others. Where the system allows it,
// the open file has no name, and disappears with the program however that ends.
type File struct {
	*os.File
	named bool
}

// Open makes a File in the folder for temporary files. purpose becomes part of its name.
func Open(purpose string) (*File, error) {
	f, err := Create(os.TempDir(), "tessera-"+purpose, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{f, os.Remove(f.Name()) != nil}, nil
}

// Close frees the disk space.
func (f *File) Close() error {
	err := f.File.Close()
	if f.named {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Sweep removes from folder dir what ended programs of this user on this machine left
// there. A folder that such a program moved aside and did not replace gets its name back.
// A file that cannot be removed stays.
func Sweep(dir string) {
	entries, _ := os.ReadDir(dir) // the entries that can be read
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = true
	}
	for _, e := range entries {
		name := e.Name()
		m := ours.FindStringSubmatch(name)
		if aside, found := cutOld(name); found && !there[aside] {
			os.RemoveAll(filepath.Join(dir, name)) // it was replaced
			continue
		}
		if m == nil || m[2] != host() || !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		abandoned(filepath.Join(dir, name), func() {
			if there[name+old] {
				back(dir, name+old, m[1])
			}
			os.RemoveAll(filepath.Join(dir, name))
		})
	}
}

// old ends the name of a folder while one of Mkdir replaces it.
const old = ".old"

// Aside returns the path for the contents that folder will replace, meanwhile.
func Aside(folder string) string { return folder + old }

// cutOld returns the name of the folder that was to replace name.
func cutOld(name string) (string, bool) {
	n := len(name) - len(old)
	if n < 0 || name[n:] != old {
		return "", false
	}
	m := ours.FindStringSubmatch(name[:n])
	return name[:n], m != nil && m[2] == host()
}

// back gives a folder that was moved aside its name again, if the name is known and
// unused; if it is in use, the folder was replaced.
func back(dir, aside, stem string) {
	if len(stem) > maxStem-utf8.UTFMax || stem[0] != '.' { // it may be shortened
		return
	}
	target := filepath.Join(dir, stem[1:])
	if _, err := os.Lstat(target); err == nil {
		os.RemoveAll(filepath.Join(dir, aside))
	} else if errors.Is(err, fs.ErrNotExist) {
		os.Rename(filepath.Join(dir, aside), target)
	}
}
