//go:build !js

package dawn

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"tessera/gpu/internal/driver"
	"tessera/tests/testenv"
)

// TestFeatures: shaders may use exactly the features that the adapter reports. It
// detects feature numbers that do not match the library.
func TestFeatures(t *testing.T) {
	for _, l := range apiVersions() {
		t.Run(l.name, func(t *testing.T) {
			list, err := Adapters(driver.Options{Library: l.path})
			if err != nil {
				testenv.Missing(t, "%v; run make deps", err)
			}
			for _, a := range list {
				d := open(t, driver.Options{Adapter: a.Index, Library: l.path})
				for extension, told := range map[string]bool{"f16": a.F16, "subgroups": a.Subgroups, "subgroup_size_control": a.SubgroupSize} {
					assert.Equal(t, told, d.allows(extension), "%s (%s): what the device reports of %s, and what holds in shaders", a.Name, a.Backend, extension)
				}
			}
		})
	}
}

// allows reports whether a shader may enable the extension.
func (d *device) allows(extension string) bool {
	source := &shaderSourceWGSL{
		chain: chainedStruct{sType: sTypeShaderSourceWGSL},
		code:  view("enable " + extension + "; @compute @workgroup_size(1) fn main() {}"),
	}
	var module uintptr
	err := d.guarded(func() {
		descriptor := &shaderModuleDescriptor{nextInChain: unsafe.Pointer(source)}
		module = call(d.DeviceCreateShaderModule, d.handle, uintptr(unsafe.Pointer(descriptor)))
	})
	call(d.ShaderModuleRelease, module)
	return err == nil
}
