package batch

import (
	"cmp"
	"context"
	"io"
	"sync"

	"tessera/app/files"
)

// queue returns a function that returns the clips one after another, then nil.
func (b *run) queue(in io.Reader) (next func() (*Clip, error), err error) {
	if b.Manifest == files.Stream {
		return b.follow(in), nil
	}
	clips, err := b.clips()
	b.all = len(clips)
	return func() (c *Clip, err error) {
		if len(clips) > 0 {
			c, clips = clips[0], clips[1:]
		}
		return c, nil
	}, err
}

// share runs the clips that next returns, until it returns nil, on all workers. Its error
// is the first that ended the batch.
func (b *run) share(next func() (*Clip, error)) error {
	b.workers = 1
	if b.all > 1 || b.Manifest == files.Stream {
		b.workers = b.Workers(b.all)
	}
	ctx, stop := context.WithCancel(b.ctx)
	defer stop()
	b.ctx = ctx
	var queue, failing sync.Mutex
	take := func() (*Clip, error) {
		queue.Lock()
		defer queue.Unlock()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c, err := next()
		if c != nil {
			b.number(c)
		}
		return c, err
	}
	var first error
	var all sync.WaitGroup
	for worker := range b.workers {
		all.Go(func() {
			if err := b.serve(worker, take); err != nil {
				failing.Lock()
				defer failing.Unlock()
				first = cmp.Or(first, err)
				stop()
			}
		})
	}
	all.Wait()
	return first
}

// serve runs clips on a worker. An error ends the batch.
func (b *run) serve(worker int, next func() (*Clip, error)) error {
	for {
		c, err := next()
		if c == nil || err != nil {
			return err
		}
		b.claim(c)
		if more, err := b.clip(worker, c); !more || err != nil {
			return err
		}
	}
}

// number numbers a clip that a worker takes.
func (b *run) number(c *Clip) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun++
	c.number = b.begun
}

// claim waits while another clip writes the same output: a stream may have such clips.
func (b *run) claim(c *Clip) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.writing[c.key()] {
		b.written.Wait()
	}
	b.writing[c.key()] = true
}
