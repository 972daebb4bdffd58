//go:build !js

package media

import (
	"tessera/format/safetensors"
	"tessera/latent"
)

// floatSink writes float32 [C,T,H,W]. Frames arrive one by one, so it writes each plane
// to its place in the file.
type floatSink struct {
	pending destination
	format  Format
	data    int64 // offset of the first value
	plane   []float32
	bytes   []byte
}

func createFloats(open opener, path string, f Format) (backend, error) {
	shape := []int{f.channels(), f.Frames, f.Height, f.Width}
	header := func(p destination) error {
		_, err := p.Write(npyPrefix(shape))
		return err
	}
	data := int64(len(npyPrefix(shape)))
	if extension(path) == ".safetensors" {
		specs := []safetensors.Spec{{Name: framesKey, DType: safetensors.F32, Shape: shape}}
		var meta map[string]string
		if f.FPS.Known() {
			meta = map[string]string{latent.MetaFPS: f.FPS.String()}
		}
		text, _, err := safetensors.Size(specs, meta)
		if err != nil {
			return nil, err
		}
		data = 8 + text
		header = func(p destination) error {
			_, err := safetensors.NewWriter(p, specs, meta)
			return err
		}
	}
	pixels := f.Height * f.Width
	p, err := open(path, data+int64(f.channels())*int64(f.Frames)*int64(pixels)*4)
	if err != nil {
		return nil, err
	}
	if err := header(p); err != nil {
		return nil, p.discard(err)
	}
	return &floatSink{pending: p, format: f, data: data, plane: make([]float32, pixels)}, nil
}

func (s *floatSink) needsFloat() bool { return true }

func (s *floatSink) frame(t int, floats []float32, _ []byte) error {
	channels := s.format.channels()
	for channel := range channels {
		for i := range s.plane {
			s.plane[i] = floats[channels*i+channel]
		}
		s.bytes = floatBytes(s.bytes, s.plane)
		plane := int64(channel*s.format.Frames + t)
		if _, err := s.pending.WriteAt(s.bytes, s.data+plane*int64(len(s.bytes))); err != nil {
			return err
		}
	}
	return nil
}

func (s *floatSink) commit() error { return s.pending.commit() }
func (s *floatSink) abort() error  { return s.pending.abort() }
