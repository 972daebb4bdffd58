//go:build !js

package gpu

import (
	"context"
	"fmt"
	"os"

	"tessera/gpu/internal/diskcache"
)

// maxAdapterCache bounds the bytes of the stored results of all adapters together.
const maxAdapterCache = 1 << 20

// StoreResult stores a test result of an adapter in the user's cache folder, if there
// is one. The key about names what was tested.
func StoreResult(a Info, about string, value []byte) {
	diskcache.Open("adapters", maxAdapterCache).Put(keyOf(a, about), value)
}

// LoadResult returns the value that StoreResult stored for the same adapter, driver and
// library. It returns nil if the value is missing or damaged.
func LoadResult(a Info, about string) []byte {
	return diskcache.Open("adapters", maxAdapterCache).Get(keyOf(a, about))
}

// LockResults locks the results of adapters against other processes until release is
// called. Use it to test a kernel that may crash the process. If another process holds
// the lock, LockResults waits until ctx ends.
func LockResults(ctx context.Context) (release func(), err error) {
	return diskcache.Open("adapters", maxAdapterCache).Lock(ctx)
}

// keyOf includes everything that may change an adapter's results or speed.
func keyOf(a Info, about string) []byte {
	key := fmt.Sprintln(a.Name, a.Driver, a.Backend, a.Library, about)
	if library, err := os.Stat(a.Library); err == nil {
		key += fmt.Sprintln(library.Size(), library.ModTime())
	}
	return []byte(key)
}

// SkipVerification reports whether TESSERA_UNTRIED=1 disables tests and trials of
// adapters. Simulated cards need it: they show what a compiler makes of the shaders,
// and every result is wrong.
func SkipVerification() bool { return os.Getenv("TESSERA_UNTRIED") == "1" }
