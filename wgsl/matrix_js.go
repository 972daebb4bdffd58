package wgsl

// A page's engine has no kernels of subgroup matrices: no browser has these.
var matrixTexts []embedded

func (*shader) whole(constants, int) {}
