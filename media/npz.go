//go:build !js

package media

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"tessera/format/file"
	"tessera/latent"
)

const (
	// maxNPZDirectory limits the zip directory of a .npz file, which has about 80 bytes
	// per array.
	maxNPZDirectory = 1 << 20
	// inflation is deflate's highest compression ratio.
	inflation = 1032
)

func openNPZArray(path string, pick picker) (*array, error) {
	f, size, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	a, err := readNPZ(f, size, path, pick)
	if err != nil {
		f.Close()
		return nil, err
	}
	a.close = f.Close
	return a, nil
}

// readNPZ picks an array of a .npz file of size bytes, which is a zip of .npy files.
func readNPZ(r io.ReaderAt, size int64, path string, pick picker) (*array, error) {
	bounded := &readUpTo{r, maxNPZDirectory}
	z, err := zip.NewReader(bounded, size)
	if err != nil {
		if err := foreignArray(r); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("not a .npz file: %w", err)
	}
	bounded.left = -1
	var names []string
	for _, f := range z.File {
		names = append(names, strings.TrimSuffix(f.Name, ".npy"))
	}
	name, note, err := pick.pick("arrays", names, names)
	if err != nil {
		return nil, err
	}
	a := &npzArray{entry: z.File[slices.Index(names, name)]}
	if err := a.open(size); err != nil {
		return nil, fmt.Errorf("array %.80q: %w", a.entry.Name, err)
	}
	picked := a.npy.array(func() error { return nil })
	picked.name, picked.note, picked.readF32 = name, note, a.ReadF32
	picked.trainer = sdScripts(path, names)
	return picked, nil
}

// sdScriptsModels are the suffixes of sd-scripts' cache names, before .npz
// (library/strategy_*.py, LATENTS_NPZ_SUFFIX).
var sdScriptsModels = []string{"anima", "flux", "hi", "lumina", "sd", "sd3", "sdxl"}

// sdScripts returns that trainer if the file at path, with arrays of these names, is its
// cache: sizes are stored beside the latents, and the file's name gives the model.
func sdScripts(path string, names []string) *latent.Trainer {
	sized := func(key string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return name == key || picker{}.sized(name, key) })
	}
	if !sized("original_size") || !sized("crop_ltrb") {
		return nil
	}
	t := &latent.Trainer{Name: "sd-scripts"}
	stem := strings.TrimSuffix(path, filepath.Ext(path))
	if model := stem[strings.LastIndex(stem, "_")+1:]; slices.Contains(sdScriptsModels, model) {
		t.Model = model
	}
	return t
}

// npzArray is one array of a .npz file, read from its start.
type npzArray struct {
	entry *zip.File
	npy   *npyFile
}

// open reads the array's header and checks its size against the file's.
func (a *npzArray) open(size int64) error {
	packed, all := a.entry.CompressedSize64, a.entry.UncompressedSize64
	if packed > uint64(size) || all/inflation > packed+1 {
		return fmt.Errorf("%d bytes in %d of a file of %d: damaged", all, packed, size)
	}
	if a.entry.Flags&1 != 0 {
		return errors.New("is encrypted")
	}
	stream, err := a.entry.Open()
	if err != nil {
		return err
	}
	defer stream.Close()
	head, err := io.ReadAll(io.LimitReader(stream, 12+maxNPYHeader))
	if err != nil {
		return err
	}
	a.npy, err = openNPY(bytes.NewReader(head), int64(all))
	return err
}

// ReadF32 fills dst with the elements from start on. Reading the last element checks the
// whole array's checksum.
func (a *npzArray) ReadF32(dst []float32, start int) error {
	stream, err := a.entry.Open()
	if err != nil {
		return err
	}
	defer stream.Close()
	size := a.npy.dtype.size
	if _, err := io.CopyN(io.Discard, stream, a.npy.data+int64(start)*int64(size)); err != nil {
		return err
	}
	part := make([]byte, min(1<<16, len(dst)*size))
	for len(dst) > 0 {
		n := min(len(part)/size, len(dst))
		if _, err := io.ReadFull(stream, part[:n*size]); err != nil {
			return err
		}
		a.npy.dtype.decode(dst[:n], part)
		dst = dst[n:]
	}
	if n, err := stream.Read(part[:1]); n == 0 && err != io.EOF {
		return err
	}
	return nil
}

// readUpTo reads at most left bytes; a negative left is no limit.
type readUpTo struct {
	io.ReaderAt
	left int64
}

func (r *readUpTo) ReadAt(p []byte, offset int64) (int, error) {
	if r.left >= 0 {
		if r.left -= int64(len(p)); r.left < 0 {
			return 0, fmt.Errorf("its directory has more than %d bytes", maxNPZDirectory)
		}
	}
	return r.ReaderAt.ReadAt(p, offset)
}
