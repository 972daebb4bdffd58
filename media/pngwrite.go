//go:build !js

package media

import (
	"bufio"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"tessera/format/file"
	"tessera/temporary"
)

// layer is a picture that is written with its alpha even if it is opaque, so that every
// frame of a clip is RGBA.
type layer struct{ *image.NRGBA }

func (layer) Opaque() bool { return false }

// picture returns a frame's pixels [H,W,4] as an image.
func (f Format) picture(rgba []byte) image.Image {
	stride, rect := 4*f.Width, image.Rect(0, 0, f.Width, f.Height)
	if f.channels() == 3 {
		return &image.RGBA{Pix: rgba, Stride: stride, Rect: rect}
	}
	img := &image.NRGBA{Pix: rgba, Stride: stride, Rect: rect}
	if img.Opaque() {
		return layer{img}
	}
	return img // unwrapped, because the encoder copies this type's rows
}

// writePNG encodes a picture.
func writePNG(w io.Writer, img image.Image, level png.CompressionLevel) error {
	out := bufio.NewWriterSize(w, 1<<16)
	enc := png.Encoder{CompressionLevel: level}
	if err := enc.Encode(out, img); err != nil {
		return err
	}
	return out.Flush()
}

// folderSink writes frame_0000.png, or .exr, and so on into a temporary folder beside the
// final one.
type folderSink struct {
	path   string // as the user gave it
	target string // absolute, links resolved
	temp   string
	folder *os.File    // temp, open until the end
	old    fs.FileInfo // the folder to replace, nil without one
	format Format
	form   pictureForm
}

func createFolder(path string, f Format, o CreateOptions) (backend, error) {
	form, err := formFor(path, o.PixelFormat, f.channels())
	if err != nil {
		return nil, err
	}
	target, err := Target(path)
	if err != nil {
		return nil, err
	}
	if err := checkFolder(path, target); err != nil {
		return nil, err
	}
	s := &folderSink{path: path, target: target, format: f, form: form}
	mode := fs.FileMode(0o777)
	if info, err := os.Stat(target); err == nil {
		s.old, mode = info, info.Mode().Perm()|0o700 // as for a file
	}
	dir, base := filepath.Split(target)
	if s.folder, err = temporary.Mkdir(dir, "."+base, mode); err != nil {
		return nil, tempError(path, err)
	}
	s.temp = s.folder.Name()
	return s, nil
}

// frameMark is a text chunk after the PNG header of a folder's frames, which
// distinguishes them from other programs' files with such names. OpenEXR has exrMark.
const frameMark = "\x00\x00\x00\x10tEXtSoftware\x00tessera\x5b\x48\x05\xd3"

// pngHead is the length of a PNG's signature and header.
const pngHead = 8 + 25

// markedFrame writes a PNG and inserts the mark.
type markedFrame struct {
	w    io.Writer
	past bool // the mark is written
}

// Write receives at least the header in its first call, because the writer above is
// buffered.
func (m *markedFrame) Write(p []byte) (int, error) {
	if m.past {
		return m.w.Write(p)
	}
	m.past = true
	if n, err := m.w.Write(slices.Concat(p[:pngHead], []byte(frameMark), p[pngHead:])); err != nil {
		return min(n, len(p)), err
	}
	return len(p), nil
}

// ourFrame reports whether a file is a frame with the mark.
func ourFrame(path string) bool {
	f, _, err := file.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, pngHead+len(frameMark))
	_, err = io.ReadFull(f, head)
	return err == nil && (string(head[pngHead:]) == frameMark || begin(exrMagic+exrVersion+exrMark)(head))
}

// checkFolder refuses to replace anything except an empty folder or earlier frames.
func checkFolder(path, target string) error {
	info, err := os.Stat(target)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && !info.IsDir() {
		return badOutput("media: %s: exists and isn't a folder", path)
	}
	entries, err := os.ReadDir(target)
	if err != nil {
		return Lasting(outputError(path, 0, err))
	}
	ours := regexp.MustCompile(`^frame_[0-9]+\.(png|exr)$`)
	for _, e := range entries {
		if !ours.MatchString(e.Name()) || !ourFrame(filepath.Join(target, e.Name())) {
			return badOutput("media: %s: folder holds %s, expected nothing but frames that tessera wrote", path, e.Name())
		}
	}
	return nil
}

func (s *folderSink) needsFloat() bool { return s.form.needsFloat() }

func (s *folderSink) frame(t int, floats []float32, rgba []byte) error {
	name := fmt.Sprintf("frame_%04d%s", t, s.form.ext)
	f, err := os.OpenFile(filepath.Join(s.temp, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return outputError(filepath.Join(s.path, name), 0, err)
	}
	// A clip has many frames, so speed is worth more than the last tenth of the size.
	var w io.Writer = f
	if s.form.ext == ".png" {
		w = &markedFrame{w: f}
	}
	err = s.form.write(w, s.format, floats, rgba, png.BestSpeed)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return outputError(filepath.Join(s.path, name), 0, err)
}

// commit swaps the folders. It first moves existing frames aside, and moves them back if
// the rename fails.
func (s *folderSink) commit() error {
	if err := checkFolder(s.path, s.target); err != nil {
		s.abort()
		return err
	}
	if err := s.flush(); err != nil {
		s.abort()
		return outputError(s.path, 0, err)
	}
	old := temporary.Aside(s.temp)
	err := os.Rename(s.target, old)
	replaced := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.abort()
		return outputError(s.path, 0, err)
	}
	if err := temporary.Publish(s.folder, s.target); err != nil {
		if replaced {
			err = errors.Join(err, os.Rename(old, s.target))
		}
		s.abort()
		return outputError(s.path, 0, err)
	}
	if s.old != nil {
		os.Chmod(s.target, s.old.Mode().Perm())
	}
	if replaced {
		return outputError(s.path, 0, os.RemoveAll(old))
	}
	return nil
}

// flush writes the frames and their names to the disk, because the replaced frames are
// then removed.
func (s *folderSink) flush() error {
	entries, err := os.ReadDir(s.temp)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := temporary.Flush(filepath.Join(s.temp, e.Name())); err != nil {
			return err
		}
	}
	return temporary.FlushNames(s.temp)
}

func (s *folderSink) abort() error {
	s.folder.Close() // a second time after Publish
	return outputError(s.path, 0, os.RemoveAll(s.temp))
}
