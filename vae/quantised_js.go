package vae

import (
	"fmt"

	"tessera/format"
	"tessera/format/safetensors"
)

// stored is nothing: a page reads floats alone, and its engine has no code for others.
type stored struct{}

func dequantised(f format.File) (format.File, stored) { return f, stored{} }

// refuse says what reads weights that are no floats.
func (stored) refuse(f format.File) error {
	for _, name := range f.Names() {
		switch t, _ := f.Tensor(name); t.DType {
		case safetensors.F8E4M3, safetensors.F8E5M2, safetensors.I8, safetensors.U8:
			return fmt.Errorf("vae: %s: tensor %s is %s: quantised weights are for the program and its native engine, a page reads floats", f.Name(), name, t.DType)
		}
	}
	return nil
}

func (stored) note(format.File) string { return "" }
