//go:build !js

package dawn

import (
	"path/filepath"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// compilers are the libraries that Dawn's D3D12 backend loads by name from beside the
// executable. If one is missing, Dawn does not say so: that of 2025 has no adapters then,
// and newer ones use an older compiler, which has no halves.
var compilers = []string{"dxil.dll", "dxcompiler.dll"}

// searched returns the folders where the process looks for libraries: System32, and
// beside the program. A program with a bundled library skips its own folder, because it
// may lie among downloads.
func searched() uintptr {
	if bundle != "" {
		return windows.LOAD_LIBRARY_SEARCH_SYSTEM32
	}
	return windows.LOAD_LIBRARY_SEARCH_APPLICATION_DIR | windows.LOAD_LIBRARY_SEARCH_SYSTEM32
}

// searchOwnFolder restricts the process to these folders, so that no library can be
// planted in the current folder or in PATH. It also covers what Dawn loads by name:
// Direct3D, Vulkan and the compilers.
var searchOwnFolder = sync.OnceValue(func() error { return windows.SetDefaultDllDirectories(uint32(searched())) })

// openLibrary loads the file at path, which is absolute. The libraries that it links
// with may lie beside it. So may the compilers: openLibrary loads them first, so that
// Dawn finds them by name.
func openLibrary(path string) (uintptr, error) {
	if err := searchOwnFolder(); err != nil {
		return 0, err
	}
	for _, name := range append(compilers, "d3dcompiler_47.dll") { // every Windows has the last one, Wine lacks it
		_, _ = loadFrom(filepath.Join(filepath.Dir(path), name)) // missingCompiler reports whether they are there
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

// validationDisabled is Dawn's default for a backend.
const validationDisabled = 2

// searchPaths returns a descriptor of the folders in which an instance of the library at
// path looks for Vulkan and the compilers: its own and System32. Without it, the hidden
// Dawn passes the bare name vulkan-1.dll with LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR, which
// takes whole paths only. Dawn's other versions have other fields.
func searchPaths(path string) unsafe.Pointer {
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return nil // Dawn then has no Vulkan, and says so
	}
	paths := &[2]stringView{view(filepath.Dir(path) + `\`), view(system + `\`)}
	return unsafe.Pointer(&dawnInstanceDescriptor{
		chain:                        chainedStruct{sType: sTypeDawnInstance},
		additionalRuntimeSearchPaths: unsafe.Pointer(paths), additionalRuntimeSearchPathsCount: uintptr(len(paths)),
		backendValidationLevel: validationDisabled,
	})
}

// missingCompiler returns the first of the compilers that is not loaded, as it would lie
// beside the library at path. It returns "" if all are loaded.
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
