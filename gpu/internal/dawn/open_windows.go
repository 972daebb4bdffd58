//go:build !js

package dawn

import (
	"path/filepath"
	"syscall"
)

// openLibrary loads the file at path, or by name where the system looks.
//
// Dawn's D3D12 backend loads the shader compiler by name only, from beside the
// executable. One that lies beside Dawn is loaded first, so that the name
// finds it.
func openLibrary(path string) (uintptr, error) {
	if filepath.IsAbs(path) {
		for _, name := range []string{"dxil.dll", "dxcompiler.dll"} {
			_, _ = syscall.LoadLibrary(filepath.Join(filepath.Dir(path), name)) // there or not: Dawn says so
		}
	}
	handle, err := syscall.LoadLibrary(path)
	return uintptr(handle), err
}

func closeLibrary(handle uintptr) { _ = syscall.FreeLibrary(syscall.Handle(handle)) }

func symbol(handle uintptr, name string) uintptr {
	addr, err := syscall.GetProcAddress(syscall.Handle(handle), name)
	if err != nil {
		return 0
	}
	return addr
}
