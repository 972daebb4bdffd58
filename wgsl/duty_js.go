package wgsl

import "tessera/gpu"

// duties are what kernels are chosen by, which pages do not.
type duties struct{}

const noting = false

func (*Set) note(*gpu.Program, *shader, string, Elem) {}
