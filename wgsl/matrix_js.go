package wgsl

// A page's engine has no kernels of subgroup matrices: no browser has these.
var matrixTexts []embedded

func (*shader) whole(constants, int) {}

func (s *Set) phase(k *kernel, i, _ int) (*shader, constants) {
	return &k.shaders[i], constants{"ROLLED": flag(s.info.Type == "cpu")}
}
