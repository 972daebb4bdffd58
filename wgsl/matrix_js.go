package wgsl

// A page's engine has no kernels of subgroup matrices, since no browser has these,
// and keeps nothing in 8 bits.
var nativeTexts []embedded

func (*shader) whole(constants, int) {}
