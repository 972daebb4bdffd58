//go:build !js

package dawn

import (
	"path/filepath"
	"sync"

	"golang.org/x/sys/windows"
)

// compilers are what Dawn's D3D12 backend loads by name, from beside the
// executable, and does without a word more than that it has no adapters where
// one is missing.
var compilers = []string{"dxil.dll", "dxcompiler.dll"}

// searched are the folders where the process looks for libraries: beside the program,
// unless that has its own inside and may lie among downloads, and System32.
func searched() uintptr {
	if bundle != "" {
		return windows.LOAD_LIBRARY_SEARCH_SYSTEM32
	}
	return windows.LOAD_LIBRARY_SEARCH_APPLICATION_DIR | windows.LOAD_LIBRARY_SEARCH_SYSTEM32
}

// searchOwnFolder makes the process look for libraries there and nowhere else, so that
// none can be planted in the current folder or in PATH. It holds for what Dawn loads by
// name, too: Direct3D, Vulkan and the compilers.
var searchOwnFolder = sync.OnceValue(func() error { return windows.SetDefaultDllDirectories(uint32(searched())) })

// openLibrary loads the file at path, which is absolute. What it is linked with
// may lie beside it, and so may the compilers: they are loaded first, so that
// their names find them.
func openLibrary(path string) (uintptr, error) {
	if err := searchOwnFolder(); err != nil {
		return 0, err
	}
	for _, name := range append(compilers, "d3dcompiler_47.dll") { // every Windows has the last one, Wine lacks it
		_, _ = loadFrom(filepath.Join(filepath.Dir(path), name)) // whether they are there is told later
	}
	return loadFrom(path)
}

func loadFrom(path string) (uintptr, error) {
	handle, err := windows.LoadLibraryEx(path, 0, windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR|searched())
	return uintptr(handle), err
}

func closeLibrary(handle uintptr) { _ = windows.FreeLibrary(windows.Handle(handle)) }

func symbol(handle uintptr, name string) uintptr {
	addr, err := windows.GetProcAddress(windows.Handle(handle), name)
	if err != nil {
		return 0
	}
	return addr
}

// missingCompiler is the first of the compilers that is not loaded, for want of
// which the D3D12 backend of the library at path has no adapters; empty where
// all are there.
func missingCompiler(path string) string {
	for _, name := range compilers {
		var handle windows.Handle
		text, err := windows.UTF16PtrFromString(name)
		if err != nil || windows.GetModuleHandleEx(windows.GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT, text, &handle) != nil {
			return filepath.Join(filepath.Dir(path), name)
		}
	}
	return ""
}
