package session

import (
	"cmp"

	"tessera/app/job"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

type latentInfo struct {
	Shape       []int             `json:"shape"`
	Clip        clip              `json:"clip"`
	Independent bool              `json:"independent"`
	Metadata    map[string]string `json:"metadata"`
}

// inspect tells what a latent file holds, for the open checkpoint where there
// is one.
func (s *Session) inspect(r *request) (*latentInfo, error) {
	file, size, name, closed, err := s.file(r)
	if err != nil {
		return nil, err
	}
	defer closed()
	c := vae.Usual() // before there is a checkpoint
	if m, err := s.plannerModel(); err == nil {
		c = m.Config
	}
	l, err := media.InspectLatent(file, size, name, c.Latent)
	if err == nil {
		err = checkBatch(name, l)
	}
	if err != nil {
		return nil, err
	}
	d, err := job.Decode(c, l, name, job.Choices{Independent: r.Options.Independent, Scale: r.Options.Scale})
	if err != nil {
		return nil, err
	}
	return &latentInfo{l.Shape(), clipOf(d.Clip), d.Options.Independent, l.Meta}, nil
}

// latent reads a decode's input, for a model.
func (s *Session) latent(r *request, c vae.Config) (l latent.Latent, name string, err error) {
	file, size, name, closed, err := s.file(r)
	if err != nil {
		return l, name, err
	}
	defer closed()
	if l, err = media.DecodeLatent(file, size, name, c.Latent); err == nil {
		err = checkBatch(name, l)
	}
	if err != nil {
		return l, name, err
	}
	return l, name, checkSize("latent", l.Frames, l.Height, l.Width)
}

// checkBatch refuses several clips.
func checkBatch(name string, l latent.Latent) error {
	if n := l.Clips(); n > 1 {
		return job.BadInput("session: %s: a batch of %d clips, expected one: `tessera decode` decodes them all", name, n)
	}
	return nil
}

// latentName is the name of what encode makes.
func (o options) latentName() (string, error) {
	switch f := cmp.Or(o.Format, ".safetensors"); f {
	case ".safetensors", ".latent", ".npy":
		return "latent" + f, nil
	default:
		return "", job.BadInput("session: format %.20q, expected .safetensors, .latent or .npy", f)
	}
}
