package session

import (
	"context"
	"io"

	"tessera/gpu"
	"tessera/vae"
)

// checkpoint is the page's model and its file.
type checkpoint struct {
	file     io.ReaderAt
	size     int64
	name     string
	closed   func() error
	settings vae.Settings

	print  string     // fingerprint of the file, once computed
	model  *vae.Model // on dev; nil before the first job
	dev    *gpu.Device
	loaded bool // model may have weights on dev
}

// open replaces the open checkpoint.
func (s *Session) open(r *request) (*model, error) {
	i, err := s.host.Info(r.ctx)
	if err != nil {
		return nil, err
	}
	c := &checkpoint{settings: vae.Settings{Precision: vae.Precision(r.Precision), Force: r.Force, Kernels: vae.KernelSettings{Choose: s.o.Choose}}}
	if c.file, c.size, c.name, c.closed, err = s.file(r, r.Source); err != nil {
		return nil, err
	}
	m, err := s.recognise(r, c, i)
	if err != nil {
		c.closed()
		return nil, err
	}
	m.Config.Name(c.name)
	if s.checkpoint != nil {
		s.checkpoint.close(s)
	}
	s.checkpoint = c
	s.mu.Lock()
	s.planner = m
	s.mu.Unlock()
	return describe(m), nil
}

// recognise reads a checkpoint's header.
func (s *Session) recognise(r *request, c *checkpoint, i gpu.Info) (*vae.Model, error) {
	done, err := s.reading(r)
	if err != nil {
		return nil, err
	}
	defer done()
	defer c.release()
	return vae.InspectReader(headerOf(c.file, c.name), c.size, c.name, i, c.settings)
}

// readFor makes r the request that reads the file.
func (c *checkpoint) readFor(r *request) {
	if f, ok := c.file.(*pageFile); ok {
		f.r = r
	}
}

// identify computes the file's fingerprint. The first job does it, because it reads a
// megabyte of a file that may be far away.
func (s *Session) identify(r *request, c *checkpoint, config *vae.Config) error {
	if c.print == "" {
		done, err := s.reading(r)
		if err != nil {
			return err
		}
		defer done()
		c.readFor(r)
		if err := config.Identify(c.name, exact{c.file}, c.size); err != nil {
			return err
		}
		c.print = config.Print
	}
	config.Print = c.print
	return nil
}

// on opens the model on a device, during a turn.
func (c *checkpoint) on(dev *gpu.Device) (*vae.Model, error) {
	if c.model == nil || c.dev != dev {
		file := &opening{headerOf(c.file, c.name), c.file}
		m, err := vae.OpenReader(dev, file, c.size, c.name, c.settings)
		if err != nil {
			return nil, err
		}
		file.opened()
		c.model, c.dev = m, dev
	}
	c.loaded = true
	return c.model, nil
}

// unload removes the weights from the device, during a turn.
func (c *checkpoint) unload() {
	c.model.Unload()
	c.loaded = false
}

// close unloads the model in a turn, if it is on the device.
func (c *checkpoint) close(s *Session) {
	if c.loaded {
		if dev, err := s.host.Turn(context.Background(), func(int) {}); err == nil {
			if dev == c.dev {
				c.unload()
			}
			s.host.Done(nil)
		}
	}
	c.closed()
}

// release drops cached parts of the file that are no longer needed.
func (c *checkpoint) release() {
	if f, ok := c.file.(*pageFile); ok {
		f.forget()
	}
}
