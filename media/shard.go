//go:build !js

package media

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"tessera/format/file"
	"tessera/format/pth"
	"tessera/latent"
)

// orShard returns a or, after err, the shard that the file at path is, of size bytes of
// r; a nil r opens the file. If the file is OneTrainer's list of paths beside its
// latents, it adds to err where the latents are.
func orShard(a *array, err error, path string, pick picker, r io.ReaderAt, size int64) (*array, error) {
	switch {
	case errors.Is(err, pth.ErrSeveral) && r == nil:
		return openShard(path, pick)
	case errors.Is(err, pth.ErrSeveral):
		return readShard(r, size, path, pick)
	case err != nil && !errors.Is(err, fs.ErrNotExist) && filepath.Base(path) == "aggregate.pt":
		err = fmt.Errorf("%w; the latents of OneTrainer's cache are in 0.pt, 1.pt and so on beside it", err)
	}
	return a, err
}

// openShard is readShard for the file at path.
func openShard(path string, pick picker) (*array, error) {
	f, size, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	a, err := readShard(f, size, path, pick)
	if err != nil {
		f.Close()
		return nil, err
	}
	a.close = f.Close
	return a, nil
}

// readShard reads a shard of diffusion-pipe's cache: dicts of torch.save, one after
// another (utils/cache.py), whose latents have one shape, that of their bucket
// (utils/dataset.py). It returns them as one batch.
func readShard(r io.ReaderAt, size int64, path string, pick picker) (*array, error) {
	parts, err := pth.Parts(r, size)
	if err != nil {
		return nil, err
	}
	var items []*array
	for i, p := range parts {
		f, err := pth.Read(io.NewSectionReader(r, p.Offset, p.Size), p.Size, path)
		var item *array
		if err == nil {
			item, err = tensorArray(f, pick)
		} else {
			err = ownWords(err)
		}
		if err == nil && i > 0 && !slices.Equal(item.shape, items[0].shape) {
			err = fmt.Errorf("latent has shape %v, expected %v as the first", item.shape, items[0].shape)
		}
		if err != nil {
			return nil, fmt.Errorf("item %d of %d: %w", i, len(parts), err)
		}
		items = append(items, item)
	}
	a := *items[0]
	a.meta, a.batch, a.trainer = nil, true, &latent.Trainer{Name: "diffusion-pipe"}
	a.shape = append([]int{len(items)}, a.shape...)
	a.readF32 = func(dst []float32, start int) error { return readItems(items, dst, start) }
	a.close = func() error { return nil }
	return &a, nil
}

// readItems fills dst with the elements of items of one shape from start on.
func readItems(items []*array, dst []float32, start int) error {
	each := 1
	for _, n := range items[0].shape {
		each *= n
	}
	for len(dst) > 0 {
		from := start % each
		part := dst[:min(len(dst), each-from)]
		if err := items[start/each].readF32(part, from); err != nil {
			return fmt.Errorf("item %d: %w", start/each, err)
		}
		dst, start = dst[len(part):], start+len(part)
	}
	return nil
}
