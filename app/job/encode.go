package job

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// Encoding is an encode that can be planned and run.
type Encoding struct {
	Options vae.EncodeOptions // the caller sets Internals
	Clip    media.Format      // format of the input
	Padded  media.Format      // the input as the model sees it
	Again   media.Format      // the clip after decoding again
	Latent  latent.Latent     // the result, without its numbers
	Scale   string            // of the latent's numbers
	Meta    map[string]string // metadata to store with the latent
	packed  bool              // the pipeline packs it
	// Doubt is a warning if the latent's scale is a guess, else empty.
	Doubt string
	// Forgotten warns that the file's format stores no metadata, and says what decoding
	// will not undo; otherwise it is empty.
	Forgotten string
}

// Encode resolves the encoding of a clip to a latent in a file called output, whose
// extension is its format.
func Encode(c vae.Config, clip media.Format, output string, want Choices) (Encoding, error) {
	e := Encoding{Clip: clip, Padded: clip, Again: clip}
	e.Again.FPS = cmp.Or(want.FPS, clip.FPS)
	err := c.Can("encode")
	if err != nil {
		return e, err
	}
	if e.Options.Options, err = want.Options(); err != nil {
		return e, err
	}
	if c, err = c.As(want.As); err != nil {
		return e, err
	}
	if (want.Moments || want.Sample) && c.Means() {
		return e, BadInput("job: %s produces latents, not distributions, so it has no moments and no sample", c.Model)
	}
	format := strings.ToLower(path.Ext(output))
	o := &e.Options
	o.Moments, o.Sample, o.Seed = want.Moments, want.Sample, want.Seed
	o.Independent = want.independent(c.Independent)
	e.Scale = cmp.Or(want.Scale, c.Origin(latent.Original{ComfyUI: format == ".latent", Packed: c.Packed}).Scale)
	kind := latent.KindLatent
	if want.Moments {
		e.Scale, kind = latent.ScaleNone, latent.KindMoments
	}
	o.Unscaled = e.Scale == latent.ScaleNone
	e.packed = c.Packed && !o.Unscaled
	if doubt := c.Doubt(); doubt != "" && !o.Unscaled {
		e.Doubt = cmp.Or(c.File, "the checkpoint") + ": " + doubt
	}
	was := latent.Original{Frames: clip.Frames, Height: clip.Height, Width: clip.Width, FPS: clip.FPS, Aspect: clip.Aspect, Scale: e.Scale, Images: o.Independent, Checkpoint: c.Checkpoint()}
	e.Meta = was.Meta(kind)

	if !o.Independent {
		e.Padded.Frames = c.PaddedFrames(clip.Frames)
	}
	e.Padded.Height, e.Padded.Width = up(clip.Height, c.Grid()), up(clip.Width, c.Grid())
	e.Latent = latent.Latent{
		Channels: c.Latent, Frames: c.Encoding().Frames(e.Padded.Frames, o.Independent),
		Height: e.Padded.Height / c.Spatial, Width: e.Padded.Width / c.Spatial,
	}
	if want.Moments {
		e.Latent.Channels *= 2
	}
	if err := media.CheckLatentMemory(e.Latent); err != nil {
		return e, Mark(fmt.Errorf("encode: %w", err), ErrInput)
	}
	if lost := e.lost(c, want); format == ".npy" && lost != nil {
		e.Forgotten = output + ": .npy keeps no metadata: " + strings.Join(lost, ", ")
	}
	return e, nil
}

// Comparable refuses a round trip whose decoded frames have another size than the
// original.
func Comparable(c vae.Config) error {
	if c.Decoded() == c.Spatial {
		return nil
	}
	n := c.Decoded() / c.Spatial
	return BadInput("job: %s decodes frames to %d times the encoded height and width, so a round trip cannot compare them: use encode, then decode", cmp.Or(c.File, c.Model), n)
}

// Written returns the encoding's latent as it is stored: packed if the pipeline packs it.
func (e Encoding) Written(z latent.Latent) latent.Latent {
	if e.packed {
		return z.Pack()
	}
	return z
}

// Doubts returns the client's warnings, Doubt and Forgotten.
func (e Encoding) Doubts() (all []string) {
	for _, text := range []string{e.Doubt, e.Forgotten} {
		if text != "" {
			all = append(all, text)
		}
	}
	return all
}

// lost lists what decoding cannot undo without the metadata.
func (e Encoding) lost(c vae.Config, want Choices) (lost []string) {
	clip, p := e.Clip, e.Padded
	if p != clip {
		n := c.Decoded() / c.Spatial
		lost = append(lost, fmt.Sprintf("it will decode to the padded %d frames of %dx%d, not %d of %dx%d",
			p.Frames, n*p.Width, n*p.Height, clip.Frames, n*clip.Width, n*clip.Height))
	}
	if clip.Aspect.Known() {
		lost = append(lost, "it will decode to square pixels, not "+clip.Aspect.String())
	}
	if clip.FPS.Known() && clip.Frames > 1 {
		lost = append(lost, "decoding it takes --fps "+clip.FPS.String())
	}
	switch {
	case want.Moments:
		lost = append(lost, "decoding it takes --layout MFHW")
	case e.Options.Unscaled:
		lost = append(lost, "decoding it takes --scale none")
	}
	switch images := e.Options.Independent; {
	case images && !c.Independent:
		lost = append(lost, "decoding it takes --independent-frames")
	case !images && c.Independent && e.Latent.Frames > 1:
		lost = append(lost, "decoding it takes --no-independent-frames")
	}
	return lost
}

// Back returns the decoding of the encoding's latent.
func (e Encoding) Back(z latent.Latent) Decoding {
	return Decoding{
		Latent: z, Clip: e.Again, Whole: e.Padded.Frames, Scale: e.Scale,
		Options: vae.DecodeOptions{Options: e.Options.Options, Frames: e.Clip.Frames, Height: e.Clip.Height, Width: e.Clip.Width},
	}
}

// up returns n rounded up to a multiple of step.
func up(n, step int) int { return (n + step - 1) / step * step }
