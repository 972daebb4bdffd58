//go:build !js

package media

import (
	"fmt"
	"os"

	"tessera/temporary"
)

// Streamed is a Clip that is decoded while it is read, from its first frame on: going
// back decodes all frames before again.
type Streamed interface {
	Clip
	// KeepBytes returns the most disk space that Keep needs.
	KeepBytes() int64
	// Keep decodes each frame only once, and keeps it in a temporary file in os.TempDir
	// until Close. The file has no name if the system allows that.
	Keep() error
}

// spool is a temporary file of frames, in order.
type spool struct {
	file   *temporary.File
	frames int
	size   int64
}

func newSpool() (*spool, error) {
	f, err := temporary.Open("frames")
	if err != nil {
		return nil, err
	}
	return &spool{file: f}, nil
}

func (s *spool) add(pix []byte) error {
	if _, err := s.file.WriteAt(pix, s.size); err != nil {
		return fmt.Errorf("decoded frames, %d bytes so far, into %s: %w", s.size, os.TempDir(), err)
	}
	s.size += int64(len(pix))
	s.frames++
	return nil
}

func (s *spool) read(t int, pix []byte) error {
	_, err := s.file.ReadAt(pix, int64(t)*int64(len(pix)))
	return err
}

func (s *spool) close() error { return s.file.Close() }

// KeepBytes returns the size of all frames.
func (c *videoClip) KeepBytes() int64 {
	return int64(c.frames) * int64(c.picture.height) * int64(c.picture.width) * int64(c.channels)
}

// Keep opens the spool and stores the frames in memory.
func (c *videoClip) Keep() (err error) {
	if c.spool != nil {
		return nil
	}
	if c.next > recentFrames {
		c.end()
		c.next = 0
	}
	if c.spool, err = newSpool(); err != nil {
		return fmt.Errorf("media: %s: room for decoded frames: %w", c.path, err)
	}
	for t := range c.next {
		if err := c.spool.add(c.recent[t]); err != nil {
			return fmt.Errorf("media: %s: %w", c.path, err)
		}
	}
	return nil
}
