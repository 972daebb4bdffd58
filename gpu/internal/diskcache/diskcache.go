//go:build !js

// Package diskcache stores expensive values in the user's cache folder, from one run of
// the program to the next: one file for each key. Several processes may use a folder at
// once.
//
//	c := diskcache.Open("pipelines", 256<<20)
//	value := c.Get(key)
//	if value == nil {
//		value = compute()
//		c.Put(key, value)
//	}
//
// A cache never fails: if a value can't be written, it is not stored; damaged files are
// removed; the oldest values are removed when the limit is exceeded.
package diskcache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tessera/temporary"
)

// Cache holds values of one kind. A nil Cache is always empty. It is safe for
// concurrent use.
type Cache struct {
	dir  string
	most int64 // limit in bytes

	mu    sync.Mutex
	bytes int64 // approximate total; -1 before the first write

	hits, misses atomic.Int64
}

// Open returns the cache for a kind of values, limited to most bytes in all. It returns
// nil if this user has no cache folder.
func Open(kind string, most int64) *Cache {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	return &Cache{dir: filepath.Join(dir, "tessera", kind), most: most, bytes: -1}
}

// path returns the file of a key.
func (f *Cache) path(key []byte) string {
	sum := sha256.Sum256(key)
	return filepath.Join(f.dir, hex.EncodeToString(sum[:20]))
}

// check returns the head of a file, which shows that the file is complete and belongs
// to the key.
func check(key, value []byte) []byte {
	sum := sha256.Sum256(key)
	h := sha256.New()
	h.Write(sum[:])
	h.Write(value)
	return h.Sum(nil)
}

// recent is how long a value counts as just used.
const recent = time.Hour

// Get returns a key's value, or nil if the cache lacks it.
func (f *Cache) Get(key []byte) []byte {
	if f == nil {
		return nil
	}
	value := f.read(key)
	if value == nil {
		f.misses.Add(1)
	} else {
		f.hits.Add(1)
	}
	return value
}

func (f *Cache) read(key []byte) []byte {
	path := f.path(key)
	whole, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	if len(whole) <= sha256.Size || !bytes.Equal(whole[:sha256.Size], check(key, whole[sha256.Size:])) {
		os.Remove(path)
		return nil
	}
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > recent {
		os.Chtimes(path, time.Time{}, time.Now()) // used, so it is no longer the oldest
	}
	return whole[sha256.Size:]
}

// Lock locks the folder against other processes until release is called. If another
// process has the lock, Lock waits until ctx ends. If files can't be locked, it does
// not wait.
func (f *Cache) Lock(ctx context.Context) (release func(), err error) {
	nothing := func() {}
	if f == nil || os.MkdirAll(f.dir, 0o700) != nil {
		return nothing, nil
	}
	for {
		lock, err := temporary.Lock(f.dir + ".lock")
		if err == nil {
			return func() { lock.Close() }, nil
		}
		if !temporary.IsLocked(err) {
			return nothing, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Put stores a value, if it can. The value must not be empty.
func (f *Cache) Put(key, value []byte) {
	if f == nil || len(value) == 0 || int64(len(value)) > f.most/4 {
		return
	}
	if err := f.write(f.path(key), check(key, value), value); err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.bytes < 0 {
		temporary.Sweep(f.dir)
		f.shrink(f.most)
		return
	}
	if f.bytes += int64(len(value)); f.bytes > f.most {
		f.shrink(f.most / 4 * 3)
	}
}

func (f *Cache) write(path string, parts ...[]byte) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	file, err := temporary.Create(f.dir, ".kept", 0o600)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if _, err = file.Write(part); err != nil {
			break
		}
	}
	if err == nil {
		err = temporary.Publish(file, path)
	}
	if err != nil {
		file.Close()
		os.Remove(file.Name())
	}
	return err
}

// shrink counts the stored bytes, including those of other processes, and removes the
// oldest values if they exceed the limit.
func (f *Cache) shrink(to int64) {
	var files []fs.FileInfo
	f.bytes = 0
	entries, _ := os.ReadDir(f.dir) // as far as it can be read
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			files = append(files, info)
			f.bytes += info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range files {
		if f.bytes <= to {
			return
		}
		if os.Remove(filepath.Join(f.dir, info.Name())) == nil {
			f.bytes -= info.Size()
		}
	}
}

// Counts returns how often Get found a value, and how often it did not.
func (f *Cache) Counts() (hits, misses int) {
	if f == nil {
		return 0, 0
	}
	return int(f.hits.Load()), int(f.misses.Load())
}
