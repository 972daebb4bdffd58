//go:build !js && !windows

package dawn

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// openLibrary loads the file at path, or searches the system's folders if path is a
// bare name.
func openLibrary(path string) (uintptr, error) {
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func closeLibrary(handle uintptr) { _ = purego.Dlclose(handle) }

func symbol(handle uintptr, name string) uintptr {
	addr, err := purego.Dlsym(handle, name)
	if err != nil {
		return 0
	}
	return addr
}

// searchPaths returns nil: here Dawn finds Vulkan without it.
func searchPaths(string) unsafe.Pointer { return nil }

// missingCompiler returns "": only Direct3D 12 needs a compiler beside Dawn.
func missingCompiler(string) string { return "" }
