//go:build !js

package diskcache

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func folder(t *testing.T, most int64) *Cache {
	return &Cache{dir: filepath.Join(t.TempDir(), "a", "b"), most: most, bytes: -1}
}

func TestKept(t *testing.T) {
	f := folder(t, 1<<20)
	require.Nil(t, f.Get([]byte("key")))
	f.Put([]byte("key"), []byte("value"))
	f.Put([]byte("key"), []byte("another"))
	f.Put([]byte("empty"), nil)
	require.Equal(t, "another", string(f.Get([]byte("key"))))
	require.Nil(t, f.Get([]byte("empty")))
	other := &Cache{dir: f.dir, most: f.most}
	require.Equal(t, "another", string(other.Get([]byte("key"))), "by another process")
	hits, misses := f.Counts()
	require.Equal(t, []int{1, 2}, []int{hits, misses}, "hits and misses")
	entries, err := os.ReadDir(f.dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "files")
}

// Damaged files and files with the wrong name are removed.
func TestDamagedIsRemoved(t *testing.T) {
	f := folder(t, 1<<20)
	key, path := []byte("key"), f.path([]byte("key"))
	f.Put(key, []byte("value"))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	f.Put([]byte("other"), []byte("value"))
	stranger, err := os.ReadFile(f.path([]byte("other")))
	require.NoError(t, err)
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1] ^= 1
	for name, bad := range map[string][]byte{
		"empty": {}, "cut short": whole[:len(whole)-1], "header only": whole[:32], "flipped": flipped, "of another key": stranger,
	} {
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		assert.Nil(t, f.Get(key), name)
		assert.NoFileExists(t, path, name)
	}
	f.Put(key, []byte("value"))
	require.Equal(t, "value", string(f.Get(key)))
}

// The oldest value is removed first; a recently used value is not old.
func TestOldestGoes(t *testing.T) {
	f := folder(t, 100_000)
	key := func(i int) []byte { return fmt.Append(nil, i) }
	for i := range 9 {
		f.Put(key(i), make([]byte, 10_000))
		past := time.Now().Add(time.Duration(i-100) * time.Hour)
		require.NoError(t, os.Chtimes(f.path(key(i)), past, past))
	}
	require.NotNil(t, f.Get(key(0)), "used")
	f.Put(key(9), make([]byte, 10_000))
	f.Put(key(10), make([]byte, 10_000))
	for i, kept := range []bool{true, false, false, false, true, true, true, true, true, true, true} {
		assert.Equal(t, kept, f.Get(key(i)) != nil, "value %d", i)
	}
	big := make([]byte, 25_001)
	f.Put([]byte("big"), big)
	assert.Nil(t, f.Get([]byte("big")), "a value larger than a quarter of all")
}

// Several processes write and read at once without seeing half-written values.
func TestKeptAtOnce(t *testing.T) {
	dir := t.TempDir()
	var wait sync.WaitGroup
	for p := range 4 {
		wait.Go(func() {
			f := &Cache{dir: dir, most: 200_000, bytes: -1}
			for i := range 100 {
				key := fmt.Append(nil, i%20)
				if got := f.Get(key); got != nil {
					assert.Equal(t, bytes.Repeat(key, 3000), got, "process %d", p)
				}
				f.Put(key, bytes.Repeat(key, 3000))
			}
		})
	}
	wait.Wait()
}

// A folder that can't be created or written is no error.
func TestNowhereToKeep(t *testing.T) {
	var none *Cache
	none.Put([]byte("key"), []byte("value"))
	require.Nil(t, none.Get([]byte("key")))
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	f := &Cache{dir: filepath.Join(file, "folder"), most: 1 << 20, bytes: -1}
	f.Put([]byte("key"), []byte("value"))
	require.Nil(t, f.Get([]byte("key")))
	if runtime.GOOS != "linux" {
		t.Skip("without /dev/full or a cache folder by XDG_CACHE_HOME")
	}
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "")
	require.Nil(t, Open("kind", 1), "without a home")
}

// Two processes lock a folder in turn, and wait only until their contexts end.
func TestHold(t *testing.T) {
	f := folder(t, 1<<20)
	release, err := f.Lock(t.Context())
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = f.Lock(ctx)
	require.ErrorIs(t, err, context.Canceled)
	had := make(chan func())
	go func() {
		release, err := (&Cache{dir: f.dir}).Lock(context.Background())
		assert.NoError(t, err)
		had <- release
	}()
	release()
	(<-had)()

	var none *Cache
	release, err = none.Lock(ctx)
	require.NoError(t, err, "nothing to hold")
	release()
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	release, err = (&Cache{dir: filepath.Join(file, "folder")}).Lock(ctx)
	require.NoError(t, err, "a folder that can't be made")
	release()
}
