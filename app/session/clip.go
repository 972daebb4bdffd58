package session

import (
	"fmt"

	"tessera/app/job"
	"tessera/engine"
	"tessera/latent"
	"tessera/media"
	"tessera/vae"
)

// Limits on what a page may ask for, so that a few bytes cannot request all memory.
const (
	maxFrames = 1 << 17
	maxSide   = job.MaxSide
	maxChunk  = 1 << 10
)

// checkSize refuses clips and latents of absurd size. what names it.
func checkSize(what string, frames, height, width int) error {
	if frames < 1 || height < 1 || width < 1 || frames > maxFrames || height > maxSide || width > maxSide {
		return job.BadInput("session: %s of %d frames of %dx%d, expected 1 to %d frames of at most %dx%d",
			what, frames, width, height, maxFrames, maxSide, maxSide)
	}
	return nil
}

// checkLatent refuses batches, and latents whose numbers or frames are too large for a
// page.
func checkLatent(name string, l latent.Latent, c vae.Config) error {
	if n := l.Clips(); n > 1 {
		return job.BadInputOf(media.ErrProgram, "session: %s: a batch of %d clips, expected one: `tessera decode` decodes them all", name, n)
	}
	if err := checkSize("latent", l.Frames, l.Height, l.Width); err != nil {
		return err
	}
	if h, w := l.Height*c.Decoded(), l.Width*c.Decoded(); h*w > maxSide*maxSide {
		return job.BadInput("session: latent of frames of %dx%d pixels, expected at most %d pixels in one", w, h, maxSide*maxSide)
	}
	return checkBytes(l)
}

// checkBytes refuses a latent that needs too much memory.
func checkBytes(l latent.Latent) error {
	if n := l.Channels * l.Frames * l.Height * l.Width; n > job.MaxLatent/4 {
		return job.BadInput("session: latent of shape %v, %s of floats, expected at most %s", l.Shape(), engine.Bytes(4*int64(n)), engine.Bytes(job.MaxLatent))
	}
	return nil
}

// pageClip is a job's clip, whose frames the page has.
type pageClip struct {
	s        *Session
	r        *request
	channels int // of the model: 3, or 4 with alpha
	last     int // index of the frame in rgba, -1 for none
	rgba     []byte
}

func (c *pageClip) Frames() int               { return c.r.Clip.Frames }
func (c *pageClip) Size() (height, width int) { return c.r.Clip.Height, c.r.Clip.Width }
func (c *pageClip) Channels() int             { return c.channels }

// ReadFrame requests frame t, [H,W,channels], from the page.
func (c *pageClip) ReadFrame(t int, dst []float32) error {
	if t != c.last {
		if err := c.r.ctx.Err(); err != nil {
			return err
		}
		data, err := c.s.ask(c.r, 4*c.r.Clip.Height*c.r.Clip.Width, func(read int) any { return pixelsRequest{about("pixels", c.r.ID), read, t} })
		if err == nil && len(data) != 4*c.r.Clip.Height*c.r.Clip.Width {
			err = fmt.Errorf("got %d bytes, %dx%d needs %d", len(data), c.r.Clip.Width, c.r.Clip.Height, 4*c.r.Clip.Height*c.r.Clip.Width)
		}
		if err != nil {
			return job.BadInput("session: frame %d of the clip: %w", t, err)
		}
		c.last, c.rgba = t, data
	}
	media.FromRGBA(dst, c.rgba, c.channels)
	return nil
}

// format returns the clip in a job's terms.
func (c clip) format() media.Format {
	f := media.Format{Frames: c.Frames, Height: c.Height, Width: c.Width}
	if c.FPS > 0 {
		if fps, err := latent.ParseRational(fmt.Sprintf("%g", c.FPS)); err == nil {
			f.FPS = fps
		}
	}
	return f
}

// clipOf returns a job's clip in the page's terms.
func clipOf(f media.Format) clip {
	return clip{Frames: f.Frames, Height: f.Height, Width: f.Width, FPS: f.FPS.Float()}
}
