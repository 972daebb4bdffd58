package session

import (
	"bytes"
	"cmp"
	"strings"

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
	c := vae.Config{Family: vae.SeedVR2, Spatial: 8, Temporal: 4} // before there is a checkpoint
	if m, err := s.plannerModel(); err == nil {
		c = m.Config
	}
	l, err := media.InspectLatent(file, size, name, c.Latent)
	if err != nil {
		return nil, err
	}
	was, _, err := origin(l, name, c, r.Options)
	if err != nil {
		return nil, err
	}
	return &latentInfo{l.Shape(), output(l, was, c), was.Images, l.Meta}, nil
}

// origin is what is known of the clip behind a latent, by its metadata and the
// options; the rest as the command line has it. Scale is never empty.
func origin(l latent.Latent, name string, c vae.Config, o options) (was latent.Original, warnings []string, err error) {
	if was, warnings, err = media.Original(name, l, c.Spatial, c.Temporal); err != nil {
		return was, nil, err
	}
	images := was.Images
	if was.Scale == "" { // not by tessera, which would have said so
		images = images || c.Independent
	}
	if images = o.independent(images); images != was.Images {
		was.Images, was.Frames = images, 0
	}
	was.Scale = cmp.Or(o.Scale, was.Scale, scaleOf(was.ComfyUI, c))
	return was, warnings, nil
}

// scaleOf is the scale of a latent whose file does not tell, and of one to be
// written. In ComfyUI's files Wan's are the model's own numbers.
func scaleOf(comfyUI bool, c vae.Config) string {
	if comfyUI && c.Family != vae.SeedVR2 {
		return latent.ScaleNone
	}
	return latent.ScalePipeline
}

// output is the clip that a latent decodes to.
func output(l latent.Latent, was latent.Original, c vae.Config) clip {
	return clip{
		Frames: cmp.Or(was.Frames, pixelFrames(l.Frames, c, was.Images)),
		Height: cmp.Or(was.Height, l.Height*c.Spatial), Width: cmp.Or(was.Width, l.Width*c.Spatial),
		FPS: was.FPS.Float(),
	}
}

// pixelFrames are those that so many latent frames decode to.
func pixelFrames(latent int, c vae.Config, independent bool) int {
	if independent {
		return latent
	}
	return 1 + (latent-1)*c.Temporal
}

// latentFrames are those that so many frames encode to.
func latentFrames(frames int, m *vae.Model, independent bool) int {
	if independent {
		return frames
	}
	padded, _, _ := m.Padded(frames, 1, 1, false)
	return 1 + (padded-1)/m.Config.Temporal
}

// latent reads a decode's input.
func (s *Session) latent(r *request) (latent.Latent, error) {
	m, err := s.plannerModel()
	if err != nil {
		return latent.Latent{}, err
	}
	file, size, name, closed, err := s.file(r)
	if err != nil {
		return latent.Latent{}, err
	}
	defer closed()
	l, err := media.DecodeLatent(file, size, name, m.Config.Latent)
	if err != nil {
		return l, err
	}
	return l, checkSize("latent", l.Frames, l.Height, l.Width)
}

// latentOf runs the encoder and sends the latent. The options it returns are
// those to decode it with.
func (j *job) latentOf(c *pageClip) (latent.Latent, vae.Options, error) {
	info := c.r.Clip
	name, err := j.latentName()
	if err != nil {
		return latent.Latent{}, j.o, err
	}
	scale := cmp.Or(j.r.Options.Scale, scaleOf(strings.HasSuffix(name, ".latent"), j.model.Config))
	o := vae.EncodeOptions{Options: j.o, Sample: j.r.Options.Sample, Seed: j.r.Options.Seed}
	o.Unscaled, o.Independent = scale == latent.ScaleNone, j.r.Options.independent(j.model.Config.Independent)
	again := o.Options
	l, err := j.model.PlanEncode(info.Frames, info.Height, info.Width, o.Options)
	if err := j.settle("encode", latentFrames(info.Frames, j.model, o.Independent), l, err, &o.Options, info); err != nil {
		return latent.Latent{}, again, err
	}
	z, err := j.model.Encode(j.r.ctx, c, o)
	if err != nil {
		return z, again, err
	}
	z.Meta = info.original(scale, o.Independent).Meta(latent.KindLatent)
	var text bytes.Buffer
	text.Grow(4*len(z.Data) + 4096)
	if err := media.EncodeLatent(&text, name, z); err != nil {
		return z, again, err
	}
	return z, again, j.s.send(latentEvent{"latent", j.r.ID, name, z.Shape()}, text.Bytes())
}

// latentName is the name of what encode makes.
func (j *job) latentName() (string, error) {
	switch f := cmp.Or(j.r.Options.Format, ".safetensors"); f {
	case ".safetensors", ".latent", ".npy":
		return "latent" + f, nil
	default:
		return "", badInput("session: format %.20q, expected .safetensors, .latent or .npy", f)
	}
}
