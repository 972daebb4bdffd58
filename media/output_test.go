//go:build !js

package media

import (
	"context"
	"errors"
	"image/png"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"tessera/latent"
)

var outputNames = []string{"one.png", "folder", "x.y4m", "x.npy", "x.safetensors", "x.mp4", "x.webm"}

// framesFor is 1 for the format that holds no more.
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

// TestOutputAppearsAtOnce: before Close there is nothing of that name, and
// after a failure or Abort nothing at all, with and without an earlier output.
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
					if err != nil {
						t.Fatal(err)
					}
					for i := range f.Frames - 1 {
						if err := s.WriteFrame(testFrame(i, h, w)); err != nil {
							t.Fatal(err)
						}
					}
					if err := end(s, cancel); err == nil {
						t.Error("no error")
					} else if strings.Contains(err.Error(), "tmp-") {
						t.Errorf("error %q names the temporary file", err)
					}
					s.Abort()
					if !before {
						only(t, dir)
						continue
					}
					only(t, dir, name)
					if ending != "abort" { // once is enough to see it intact
						continue
					}
					clip := openClip(t, path, f)
					readFrame(t, clip, f.Frames-1)
				}
			})
		}
	}
}

// TestOutputReplaces an earlier, longer one and keeps nothing of it.
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
		if err != nil {
			t.Fatal(err)
		}
		if !info.IsDir() && runtime.GOOS != "windows" && info.Mode().Perm()&0o044 == 0 {
			t.Errorf("%s has mode %v: readable by its owner alone", name, info.Mode())
		}
	}
}

// TestSinkForms: floats and 8-bit pixels give the same file, alpha is ignored,
// and formats of floats say that they need them.
func TestSinkForms(t *testing.T) {
	const h, w = 6, 10
	for _, name := range []string{"one.png", "x.y4m", "x.npy"} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		f := Format{Height: h, Width: w, Frames: 1}
		frame := testFrame(0, h, w)
		writeClip(t, path, f)
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Create(context.Background(), path, f)
		if err != nil {
			t.Fatal(err)
		}
		rgba := make([]byte, h*w*4)
		ToRGBA(rgba, frame, 3)
		for i := 3; i < len(rgba); i += 4 {
			rgba[i] = byte(i)
		}
		err = s.WriteRGBA8(rgba)
		if s.NeedsFloat() != (name == "x.npy") {
			t.Errorf("%s: NeedsFloat is %v", name, s.NeedsFloat())
		}
		if s.NeedsFloat() {
			if err == nil || !strings.Contains(err.Error(), "8-bit pixels for a format of floats") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err := errors.Join(err, s.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: from 8-bit pixels it differs from that of floats (%v)", name, err)
		}
	}
}

func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, folder := range []string{"videos", "mixed/sub"} {
		if err := os.MkdirAll(in(folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"plain", "videos/holiday.txt", "videos/frame_0000.png"} {
		if err := os.WriteFile(in(file), []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(in("x.npy"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(in("x.npy/keep"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	f := Format{Height: 2, Width: 2, Frames: 2}
	for _, c := range []struct {
		path string
		f    Format
		want string
	}{
		{in("none/x.npy"), f, "folder " + in("none") + " doesn't exist"},
		{in("none/frames"), f, "doesn't exist"},
		{in("x.avi"), f, "cannot write .avi, expected a folder"},
		{in("x.png"), f, "2 frames don't fit into one PNG"},
		{in("plain"), f, "exists and isn't a folder"},
		{in("videos"), f, "folder holds holiday.txt, expected nothing but frame_*.png"},
		{in("mixed"), f, "folder holds sub"},
		{in("x.npy"), f, "folder holds keep"},
		{in("y.npy"), Format{Height: 0, Width: 2, Frames: 1}, "expected at least 1 x 1"},
		{in("y.npy"), Format{Height: 2, Width: 2}, "0 frames to write"},
		{os.DevNull, f, "exists and isn't a folder"},
	} {
		s, err := Create(context.Background(), c.path, c.f)
		if err == nil {
			s.Abort()
			t.Errorf("%s: created", c.path)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrInput) {
			t.Errorf("error %q, want %q", err, c.want)
		}
	}
	if err := WriteLatent(in("videos"), latent.Latent{Channels: 1, Frames: 1, Height: 1, Width: 1, Data: []float32{0}}); err == nil {
		t.Error("latent written over a folder")
	}
	only(t, dir, "mixed", "plain", "videos", "x.npy")
	only(t, in("videos"), "frame_0000.png", "holiday.txt")
}

// TestTooManyFrames: the announced count is part of the header of some
// formats, so it holds for all.
func TestTooManyFrames(t *testing.T) {
	dir := t.TempDir()
	s, err := Create(context.Background(), filepath.Join(dir, "x.y4m"), Format{Height: 2, Width: 2, Frames: 1})
	if err != nil {
		t.Fatal(err)
	}
	frame := make([]float32, 12)
	if err := s.WriteFrame(frame); err != nil {
		t.Fatal(err)
	}
	if err := s.WriteFrame(frame); err == nil || !strings.Contains(err.Error(), "more than the 1 frames") {
		t.Errorf("second frame: %v", err)
	}
	if err := s.Close(); err == nil {
		t.Error("closed after an error")
	}
	only(t, dir)
}

func TestReadOnlyFolder(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("permissions don't hold here")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	_, err := Create(context.Background(), filepath.Join(dir, "x.npy"), Format{Height: 2, Width: 2, Frames: 1})
	if err == nil || !strings.Contains(err.Error(), "x.npy: cannot write: permission denied") {
		t.Errorf("error %v", err)
	}
}

// TestDiskFull fills a file system of 256 KiB.
func TestDiskFull(t *testing.T) {
	dir := tinyDisk(t)
	const h, w, frames = 256, 256, 12
	for _, name := range []string{"x.npy", "x.safetensors", "x.y4m", "frames", "x.mp4", "x.webm"} {
		t.Run(name, func(t *testing.T) {
			skipWithoutFFmpeg(t, name)
			s, err := Create(context.Background(), filepath.Join(dir, name), Format{Height: h, Width: w, Frames: frames})
			if err != nil {
				t.Fatal(err)
			}
			for i := range frames {
				if err = s.WriteFrame(noise(i, h, w)); err != nil {
					break
				}
			}
			if err == nil {
				err = s.Close()
			}
			if err == nil {
				t.Fatal("fits into 256 KiB")
			}
			if !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "tmp-") ||
				!strings.Contains(strings.ToLower(err.Error()), "no space left on device") {
				t.Errorf("error %q, want the name and the cause", err)
			}
			if strings.HasPrefix(name, "x.npy") && !strings.Contains(err.Error(), "needs 9437312 bytes") {
				t.Errorf("error %q, want the bytes needed", err)
			}
			if cerr := s.Close(); cerr == nil {
				t.Error("Close after the error succeeds")
			}
			only(t, dir)
		})
	}
	err := WriteLatent(filepath.Join(dir, "z.safetensors"), latent.Latent{Channels: 16, Frames: 1, Height: 100, Width: 100, Data: make([]float32, 160000)})
	if err == nil || !strings.HasPrefix(err.Error(), "media: "+filepath.Join(dir, "z.safetensors: disk full, the file needs 640")) ||
		!errors.Is(err, syscall.ENOSPC) {
		t.Errorf("latent: %v", err)
	}
	sheet := NewSheet(512, 512, 3, 2, SheetOptions{})
	sheet.Add(0, noise(1, 512, 512), noise(2, 512, 512), "")
	if err := sheet.WritePNG(filepath.Join(dir, "sheet.png")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("sheet: %v", err)
	}
	only(t, dir)
}

// TestSpoolDiskFull: there is no room for decoded frames.
func TestSpoolDiskFull(t *testing.T) {
	needFFmpeg(t)
	dir := tinyDisk(t)
	path := filepath.Join(t.TempDir(), "x.mkv")
	writeClip(t, path, Format{Height: 240, Width: 320, Frames: 4})
	t.Setenv("TMPDIR", dir)
	_, err := Open(context.Background(), path, 3)
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, ErrInput) || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v, want that %s is full", err, dir)
	}
	only(t, dir)
}

// tinyDisk mounts a file system of 256 KiB, where that is allowed.
func tinyDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=256k", "tessera-test", dir).CombinedOutput(); err != nil {
		t.Skipf("cannot mount a small file system: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount %s: %v: %s", dir, err, out)
		}
	})
	return dir
}

// noise is a frame that no codec makes small.
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
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	header := make([]byte, 26)
	if _, err := f.Read(header); err != nil {
		t.Fatal(err)
	}
	if header[24] != 8 || header[25] != 2 { // bit depth, colour type RGB
		t.Errorf("bit depth %d and colour type %d, want 8 and 2", header[24], header[25])
	}
	f.Seek(0, 0)
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
}
