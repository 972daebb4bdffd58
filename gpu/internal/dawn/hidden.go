//go:build !js

package dawn

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"unsafe"
)

// ONNX Runtime's WebGPU provider contains a current Dawn, and is the only package with
// one for Windows and for Linux on ARM. It exports none of Dawn's functions, so this
// package calls wgpuGetProcAddress by its place in the file.

// hidden maps the SHA-256 of such files to the distance in bytes from hiddenFrom, which
// they export, to wgpuGetProcAddress. tools/hidden finds it.
var hidden = map[string]uintptr{
	"85d7b2065b1968b846cd00d5d87d5286d3c44e8f6c557cd382d96300e524b6cb": 0x2b22e0, // windows/amd64
	"e2a72894617c0519cae3080534ca1fc957c4ab607a993c05f326d83b322a581d": 0x237630, // windows/arm64
	"720e1288e7e465f924db44b88a98a9d1c543eba3fbb2ff801cf2545f5e7f0279": 0x216b20, // linux/arm64
	"9f76e3dc4459421958ad086a9da03bf7e5de9289e9a3a56e28bbb459773dec81": 0x2d3820, // linux/amd64, for tests
}

const hiddenFrom = "CreateEpFactories"

// getProcAddress returns the function that finds those of a hidden Dawn, in the library
// at path that exports hiddenFrom.
func getProcAddress(path string, from uintptr) (func(name string) uintptr, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return nil, err
	}
	distance, known := hidden[fmt.Sprintf("%x", sum.Sum(nil))]
	if !known {
		return nil, fmt.Errorf("its Dawn is not exported: its sha256 is %x, expected that of onnxruntime-ep-webgpu 0.4.0", sum.Sum(nil))
	}
	return func(name string) uintptr {
		v := view(name)
		return callStruct(from+distance, unsafe.Pointer(&v), unsafe.Sizeof(v))
	}, nil
}
