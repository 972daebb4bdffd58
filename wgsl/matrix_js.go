package wgsl

// A page's engine has no kernels of subgroup matrices: no browser has these.
var (
	matrixTexts                                 []embedded
	conv3DMatrixKernels, pointwiseMatrixKernels []kernel
)
