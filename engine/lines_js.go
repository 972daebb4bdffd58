package engine

import "tessera/wgsl"

// lines makes none: package wgsl has no kernels for them in a page, where a job takes
// the kernels that come first.
func (*Conv) lines(*emitter, wgsl.Conv3D, int) bool { return false }
