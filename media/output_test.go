//go:build !js

package media

import (
	"bytes"
	"context"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/latent"
)

var outputNames = []string{"one.png", "folder", "x.y4m", "x.npy", "x.safetensors", "x.mp4", "x.webm"}

// framesFor returns 1 for the format that holds a single frame.
func framesFor(name string) int {
	if strings.HasSuffix(name, ".png") {
		return 1
	}
	return 3
}

func skipWithoutFFmpeg(t *testing.T, name string) {
	if ext := extension(name); ext == ".mp4" || ext == ".webm" {
		needFFmpeg(t)
	}
}

// TestOutputAppearsAtOnce: before Close no file has that name, and a failure or Abort
// leaves no file, with and without an earlier output.
func TestOutputAppearsAtOnce(t *testing.T) {
	const h, w = 16, 16
	endings := map[string]func(*Sink, context.CancelFunc) error{
		"abort": func(s *Sink, _ context.CancelFunc) error {
			if err := s.Abort(); err != nil {
				return err
			}
			return s.Close() // must refuse
		},
		"frames missing": func(s *Sink, _ context.CancelFunc) error { return s.Close() },
		"wrong size": func(s *Sink, _ context.CancelFunc) error {
			s.WriteFrame(make([]float32, 5))
			return s.Close()
		},
		"not a number": func(s *Sink, _ context.CancelFunc) error {
			frame := testFrame(0, h, w)
			frame[100] = float32(math.NaN())
			s.WriteFrame(frame)
			return s.Close()
		},
		"cancelled": func(s *Sink, cancel context.CancelFunc) error {
			cancel()
			return s.Close()
		},
	}
	for _, name := range outputNames {
		for ending, end := range endings {
			t.Run(name+"/"+ending, func(t *testing.T) {
				skipWithoutFFmpeg(t, name)
				dir := t.TempDir()
				path := filepath.Join(dir, name)
				f := Format{Height: h, Width: w, Frames: framesFor(name)}
				for _, before := range []bool{false, true} {
					if before {
						writeClip(t, path, f)
					}
					ctx, cancel := context.WithCancel(context.Background())
					defer cancel()
					s, err := Create(ctx, path, f)
					require.NoError(t, err)
					for i := range f.Frames - 1 {
						require.NoError(t, s.WriteFrame(testFrame(i, h, w)))
					}
					err = end(s, cancel)
					require.Error(t, err)
					require.NotContains(t, err.Error(), "tmp-", "the temporary file is named")
					s.Abort()
					if !before {
						only(t, dir)
						continue
					}
					only(t, dir, name)
					if ending != "abort" { // once shows that it is intact
						continue
					}
					clip := openClip(t, path, f)
					readFrame(t, clip, f.Frames-1)
				}
			})
		}
	}
}

// TestOutputReplaces a longer output completely.
func TestOutputReplaces(t *testing.T) {
	for _, name := range outputNames {
		skipWithoutFFmpeg(t, name)
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		writeClip(t, path, Format{Height: 20, Width: 18, Frames: framesFor(name)})
		f := Format{Height: 16, Width: 16, Frames: 1}
		writeClip(t, path, f)
		only(t, dir, name)
		openClip(t, path, f)
		info, err := os.Stat(path)
		require.NoError(t, err)
		if !info.IsDir() && runtime.GOOS != "windows" {
			require.NotZero(t, info.Mode().Perm()&0o044, "%s has mode %v: readable by its owner alone", name, info.Mode())
		}
	}
}

// TestOutputKeepsMode of the replaced output, for a stricter and a laxer mode than a new
// file's.
func TestOutputKeepsMode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such mode here")
	}
	for _, name := range outputNames {
		skipWithoutFFmpeg(t, name)
		for _, mode := range []os.FileMode{0o600, 0o444, 0o777} {
			path := filepath.Join(t.TempDir(), name)
			f := Format{Height: 16, Width: 16, Frames: framesFor(name)}
			writeClip(t, path, f)
			if extension(name) == "" {
				mode |= 0o300 // otherwise useless
			}
			require.NoError(t, os.Chmod(path, mode))
			writeClip(t, path, f)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.Equal(t, mode, info.Mode().Perm(), name)
		}
	}
}

// TestOutputIsPrivateMeanwhile: an unfinished file is readable only by users who may read
// the file that it replaces.
func TestOutputIsPrivateMeanwhile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such mode here")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "x.npy")
	require.NoError(t, os.WriteFile(path, nil, 0o400))
	s, err := Create(context.Background(), path, Format{Height: 2, Width: 2, Frames: 1})
	require.NoError(t, err)
	defer s.Abort()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s has mode %v", e.Name(), info.Mode())
	}
}

// TestFolderKeepsStrangers: a file that was added to the folder while its frames were
// written is not lost with the old frames.
func TestFolderKeepsStrangers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "frames")
	f := Format{Height: 4, Width: 4, Frames: 2}
	writeClip(t, path, Format{Height: 8, Width: 8, Frames: 3})
	s, err := Create(context.Background(), path, f)
	require.NoError(t, err)
	for i := range f.Frames {
		require.NoError(t, s.WriteFrame(testFrame(i, f.Height, f.Width)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(path, "notes.txt"), []byte("mine"), 0o666))
	require.ErrorContains(t, s.Close(), "folder holds notes.txt")
	only(t, dir, "frames")
	only(t, path, "frame_0000.png", "frame_0001.png", "frame_0002.png", "notes.txt")
}

// TestFramesOfOthers: a folder of another program's frames with equal names is not
// replaced, nor one of this program's with such a frame in it.
func TestFramesOfOthers(t *testing.T) {
	dir := t.TempDir()
	theirs, path := filepath.Join(dir, "theirs"), filepath.Join(dir, "frames.png")+string(os.PathSeparator)
	f := Format{Height: 4, Width: 4, Frames: 2}
	require.NoError(t, os.Mkdir(theirs, 0o777))
	writeClip(t, filepath.Join(theirs, "frame_0001.png"), Format{Height: 4, Width: 4, Frames: 1})
	writeClip(t, path, f) // a separator at its end makes it a folder
	writeClip(t, path, f)
	openClip(t, path, f)
	require.NoError(t, os.Rename(filepath.Join(theirs, "frame_0001.png"), filepath.Join(path, "frame_0001.png")))
	_, err := Create(context.Background(), path, f)
	require.ErrorContains(t, err, "folder holds frame_0001.png, expected nothing but frames that tessera wrote")
	only(t, path, "frame_0000.png", "frame_0001.png")
}

// TestSinkForms: floats and 8-bit pixels give equal files, alpha is ignored, and formats
// of floats report NeedsFloat.
func TestSinkForms(t *testing.T) {
	const h, w = 6, 10
	for _, name := range []string{"one.png", "x.y4m", "x.npy"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		f := Format{Height: h, Width: w, Frames: 1}
		frame := testFrame(0, h, w)
		writeClip(t, path, f)
		want, err := os.ReadFile(path)
		require.NoError(t, err)
		s, err := Create(context.Background(), path, f)
		require.NoError(t, err)
		rgba := make([]byte, h*w*4)
		ToRGBA(rgba, frame, 3)
		for i := 3; i < len(rgba); i += 4 {
			rgba[i] = byte(i)
		}
		err = s.WriteRGBA8(rgba)
		require.Equal(t, name == "x.npy", s.NeedsFloat(), name)
		if s.NeedsFloat() {
			require.ErrorContains(t, err, "8-bit pixels for a format of floats", name)
			continue
		}
		require.NoError(t, err)
		require.NoError(t, s.Close())
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, bytes.Equal(want, got), "%s: from 8-bit pixels it differs from that of floats", name)
	}
}

func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, folder := range []string{"videos", "mixed/sub"} {
		require.NoError(t, os.MkdirAll(in(folder), 0o777))
	}
	for _, file := range []string{"plain", "videos/holiday.txt", "videos/frame_0000.png"} {
		require.NoError(t, os.WriteFile(in(file), []byte("mine"), 0o666))
	}
	require.NoError(t, os.Mkdir(in("x.npy"), 0o777))
	require.NoError(t, os.WriteFile(in("x.npy/keep"), nil, 0o666))
	f := Format{Height: 2, Width: 2, Frames: 2}
	for _, c := range []struct {
		path string
		f    Format
		want string
	}{
		{in("none/x.npy"), f, "folder " + in("none") + " doesn't exist"},
		{in("none/frames"), f, "doesn't exist"},
		{in("x.avi"), f, "cannot write .avi, expected a folder"},
		{in("x.png"), f, "2 frames don't fit into one PNG, expected a folder such as " + in("x")},
		{in("x_%04d.png"), f, "2 frames don't fit into one PNG, expected a folder such as " + in("frames")},
		{in("plain"), f, "exists and isn't a folder"},
		{in("videos"), f, "folder holds frame_0000.png, expected nothing but frames that tessera wrote"},
		{in("mixed"), f, "folder holds sub"},
		{in("x.npy"), f, "folder holds keep"},
		{in("y.npy"), Format{Height: 0, Width: 2, Frames: 1}, "expected at least 1 x 1"},
		{in("y.npy"), Format{Height: 2, Width: 2}, "0 frames to write"},
		{os.DevNull, f, "exists and isn't a folder"},
	} {
		s, err := Create(context.Background(), c.path, c.f)
		if err == nil {
			s.Abort()
		}
		assert.ErrorContains(t, err, c.want, c.path)
		assert.NotErrorIs(t, err, ErrInput, c.path)
		lasting := errors.Is(err, ErrOutput) || errors.Is(err, ErrFormat)
		assert.Equal(t, c.f == f, lasting, "%s: another try meets it again: %v", c.path, err)
	}
	err := WriteLatent(in("videos"), latent.Latent{Channels: 1, Frames: 1, Height: 1, Width: 1, Data: []float32{0}})
	require.Error(t, err, "latent written over a folder")
	only(t, dir, "mixed", "plain", "videos", "x.npy")
	only(t, in("videos"), "frame_0000.png", "holiday.txt")
}

// TestTooManyFrames: some formats store the announced count in their header, so all
// formats enforce it.
func TestTooManyFrames(t *testing.T) {
	dir := t.TempDir()
	s, err := Create(context.Background(), filepath.Join(dir, "x.y4m"), Format{Height: 2, Width: 2, Frames: 1})
	require.NoError(t, err)
	frame := make([]float32, 12)
	require.NoError(t, s.WriteFrame(frame))
	require.ErrorContains(t, s.WriteFrame(frame), "more than the 1 frames")
	require.Error(t, s.Close(), "closed after an error")
	only(t, dir)
}

func TestReadOnlyFolder(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("permissions don't hold here")
	}
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o555))
	_, err := Create(context.Background(), filepath.Join(dir, "x.npy"), Format{Height: 2, Width: 2, Frames: 1})
	require.ErrorContains(t, err, "x.npy: cannot write: permission denied")
	require.ErrorIs(t, err, ErrOutput)
}

// TestDiskFull fills a file system of 256 KiB.
func TestDiskFull(t *testing.T) {
	dir := tinyDisk(t)
	const h, w, frames = 256, 256, 12
	for _, name := range []string{"x.npy", "x.safetensors", "x.y4m", "frames", "x.mp4", "x.webm"} {
		t.Run(name, func(t *testing.T) {
			skipWithoutFFmpeg(t, name)
			s, err := Create(context.Background(), filepath.Join(dir, name), Format{Height: h, Width: w, Frames: frames})
			require.NoError(t, err)
			for i := range frames {
				if err = s.WriteFrame(noise(i, h, w)); err != nil {
					break
				}
			}
			if err == nil {
				err = s.Close()
			}
			require.Error(t, err, "fits into 256 KiB")
			require.ErrorContains(t, err, name)
			require.NotContains(t, err.Error(), "tmp-")
			require.Contains(t, strings.ToLower(err.Error()), "no space left on device")
			if strings.HasPrefix(name, "x.npy") {
				require.ErrorContains(t, err, "needs 9.0 MiB")
			}
			require.Error(t, s.Close(), "Close after the error")
			only(t, dir)
		})
	}
	err := WriteLatent(filepath.Join(dir, "z.safetensors"), latent.Latent{Channels: 16, Frames: 1, Height: 100, Width: 100, Data: make([]float32, 160000)})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.True(t, strings.HasPrefix(err.Error(), "media: "+filepath.Join(dir, "z.safetensors: disk full, the file needs 0.6 MiB")), "%v", err)
	sheet := NewSheet(512, 512, 3, 2, SheetOptions{})
	sheet.Add(0, noise(1, 512, 512), noise(2, 512, 512), "")
	require.ErrorIs(t, sheet.WritePNG(filepath.Join(dir, "sheet.png")), syscall.ENOSPC)
	only(t, dir)
	require.Error(t, os.WriteFile(filepath.Join(dir, "full"), make([]byte, 1<<20), 0o666))
	err = WriteLatent(filepath.Join(dir, "z.safetensors"), latent.Latent{Channels: 16, Frames: 1, Height: 4, Width: 4, Data: make([]float32, 256)})
	require.ErrorContains(t, err, "the file needs 1104 bytes")
}

// TestSpoolDiskFull: the disk has no room for decoded frames that are to be kept.
func TestSpoolDiskFull(t *testing.T) {
	needFFmpeg(t)
	dir := tinyDisk(t)
	path := filepath.Join(t.TempDir(), "x.mkv")
	writeClip(t, path, Format{Height: 240, Width: 320, Frames: 4})
	t.Setenv("TMPDIR", dir)
	clip := openClip(t, path, Format{Height: 240, Width: 320, Frames: 4})
	err := clip.(Streamed).Keep()
	for i := 0; i < clip.Frames() && err == nil; i++ {
		err = clip.ReadFrame(i, make([]float32, 240*320*3))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NotErrorIs(t, err, ErrInput)
	require.ErrorContains(t, err, dir)
	only(t, dir)
}

// tinyDisk mounts a file system of 256 KiB, if that is allowed.
func tinyDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tessera-test", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small file system: %v: %s", err, out)
	}
	t.Cleanup(func() {
		out, err := exec.Command("umount", dir).CombinedOutput()
		assert.NoError(t, err, "umount %s: %s", dir, out)
	})
	return dir
}

// noise returns a frame that no codec compresses well.
func noise(seed, height, width int) []float32 {
	frame := make([]float32, height*width*3)
	state := uint32(seed)*2654435761 + 1
	for i := range frame {
		state = state*1664525 + 1013904223
		frame[i] = float32(state>>8)/(1<<23) - 1
	}
	return frame
}

func TestPNGOutputIsPlainRGB(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.png")
	writeClip(t, path, Format{Height: 3, Width: 4, Frames: 1})
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	header := make([]byte, 26)
	_, err = f.Read(header)
	require.NoError(t, err)
	require.Equal(t, []byte{8, 2}, header[24:], "bit depth, and the colour type RGB")
	_, err = f.Seek(0, io.SeekStart)
	require.NoError(t, err)
	_, err = png.Decode(f)
	require.NoError(t, err)
}
