//go:build !js

package gpu

import (
	"context"
	"fmt"
	"os"

	"tessera/gpu/internal/diskcache"
)

// maxAdapterCache bounds the bytes of the results of all adapters.
const maxAdapterCache = 1 << 20

// StoreResult stores a test result of an adapter in the user's cache folder, if there is
// one. about is the key: what was tested.
func StoreResult(a Info, about string, value []byte) {
	diskcache.Open("adapters", maxAdapterCache).Put(keyOf(a, about), value)
}

// LoadResult returns what StoreResult stored for the same adapter, driver and library; nil
// if there is nothing or it was damaged.
func LoadResult(a Info, about string) []byte {
	return diskcache.Open("adapters", maxAdapterCache).Get(keyOf(a, about))
}

// LockResults locks the results of adapters against other processes until release is
// called, for testing a kernel that may crash the process. It waits for another process
// that has the lock until ctx ends.
func LockResults(ctx context.Context) (release func(), err error) {
	return diskcache.Open("adapters", maxAdapterCache).Lock(ctx)
}

// keyOf is made of all that could change what an adapter computes, and how fast.
func keyOf(a Info, about string) []byte {
	key := fmt.Sprintln(a.Name, a.Driver, a.Backend, a.Library, about)
	if library, err := os.Stat(a.Library); err == nil {
		key += fmt.Sprintln(library.Size(), library.ModTime())
	}
	return []byte(key)
}

// SkipVerification reports whether TESSERA_UNTRIED=1 disables tests and trials of adapters:
// on a simulated card, which is there to see what its compiler makes of shaders, every
// result is wrong.
func SkipVerification() bool { return os.Getenv("TESSERA_UNTRIED") == "1" }
