package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"tessera/app/interrupt"
	"tessera/app/job"
	"tessera/app/terminal"
	"tessera/engine"
	"tessera/format"
	"tessera/media"
	"tessera/temporary"
)

// Stream is the name of standard input and output on the command line. Standard output
// has no extension, so its format needs a flag or the default; standard input's format is
// detected from its first bytes.
const Stream = "-"

// Stdin and stdout are their names in messages.
const Stdin, stdout = "standard input", "standard output"

// Streams handles standard input and output as a command's input and output.
type Streams struct {
	*terminal.Terminal
	Out io.Writer // standard output, if the output goes there

	format string   // of that output
	spool  *os.File // folder with the stored standard input
}

// Output connects the command's output to standard output if output is "-", in the given
// format or else the first of formats. All messages then go to standard error.
func (s *Streams) Output(output, format string, formats ...string) error {
	known := strings.Join(formats[:len(formats)-1], ", ") + " or " + formats[len(formats)-1]
	switch {
	case output != Stream && format != "":
		return terminal.Refused("--format=%s with --output=%s: the file extension sets the format, expected --output=-", format, output)
	case output != Stream:
		return nil
	case format != "" && !slices.Contains(formats, format):
		return terminal.Refused("--format=%s: unknown or cannot be streamed, expected %s", format, known)
	case s.JSON:
		return terminal.Refused("--json with --output=-: both use standard output, expected one of them; --progress=json prints the result on standard error")
	}
	o := s.Stdout.(*terminal.Outlet)
	if terminal.Is(o.Writer) {
		return terminal.Refused("--output=-: standard output is a terminal, expected a pipe or file")
	}
	s.Out, s.Stdout, s.Streamed, s.format = o, s.Stderr, true, cmp.Or(format, formats[0])
	return nil
}

// Name returns a name whose extension is the output's format.
func (s *Streams) Name(path string) string {
	if path == Stream {
		return stdout + "." + s.format
	}
	return path
}

// Given returns an input's path in a form that can be compared with others.
func Given(path string) string {
	if path != Stream {
		return path
	}
	if info, err := os.Stdin.Stat(); err == nil && info.Mode().IsRegular() && runtime.GOOS != "windows" {
		return "/dev/stdin"
	}
	return ""
}

// Input returns the path of a file with the input's content. Standard input is stored in
// a temporary file until the command ends, unless it is a file already.
func (s *Streams) Input(ctx context.Context, path string) (string, error) {
	if path != Stream {
		return path, nil
	}
	if terminal.Is(os.Stdin) {
		return "", terminal.Refused("standard input is a terminal, expected a pipe or file")
	}
	folder, err := temporary.Mkdir(os.TempDir(), "tessera-input", 0o700)
	if err != nil {
		return "", fmt.Errorf("%s: %w", Stdin, err)
	}
	s.spool = folder
	own, err := interrupt.Await(ctx, func() (string, error) { return keep(folder.Name(), os.Stdin) })
	if err == nil {
		s.Call(own, Stdin)
	}
	return own, err
}

// Discard removes the stored standard input: first the content of the folder, then the
// folder, which Windows keeps while it is open.
func (s *Streams) Discard() {
	if s.spool != nil {
		os.RemoveAll(s.spool.Name())
		s.spool.Close()
		os.RemoveAll(s.spool.Name())
	}
}

// keep stores the content of f in folder. It links a file that is at its beginning, if
// possible.
func keep(folder string, f *os.File) (string, error) {
	whole := bufio.NewReaderSize(f, 1<<20)
	at, err := f.Seek(0, io.SeekCurrent)
	seekable := err == nil
	head, err := whole.Peek(64)
	if len(head) == 0 {
		if err == io.EOF {
			err = errors.New("is empty")
		}
		return "", job.BadInput("%s: %w", Stdin, err)
	}
	path := filepath.Join(folder, "input"+Ending(head))
	if seekable && at == 0 {
		process := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), f.Fd())
		if sameFile(process, "/dev/stdin") && os.Symlink(process, path) == nil {
			return asFilm(path, head)
		}
	}
	if err := spoolTo(path, whole); err != nil {
		return "", err
	}
	return asFilm(path, head)
}

// asFilm removes the extension of a file that holds several pictures one after another,
// as ffmpeg's image2pipe writes them, so that ffmpeg reads it.
func asFilm(path string, head []byte) (string, error) {
	several, err := false, error(nil)
	switch filepath.Ext(path) {
	case ".png":
		several, err = holds(path, "IEND\xaeB`\x82\x89PNG")
	case ".jpg":
		several, err = holds(path, "\xff\xd9\xff\xd8\xff")
	case ".webp":
		var info os.FileInfo
		if info, err = os.Stat(path); err == nil {
			several = info.Size() > 9+int64(binary.LittleEndian.Uint32(head[4:]))
		}
	}
	if err != nil || !several {
		return path, err
	}
	film := strings.TrimSuffix(path, filepath.Ext(path))
	return film, os.Rename(path, film)
}

// holds reports whether a file contains text.
func holds(path, text string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, fmt.Errorf("%s: %w", Stdin, err)
	}
	defer f.Close()
	part := make([]byte, 1<<20)
	for kept := 0; ; {
		n, err := io.ReadFull(f, part[kept:])
		if bytes.Contains(part[:kept+n], []byte(text)) {
			return true, nil
		}
		if err != nil {
			return false, nil // end of the file
		}
		kept = copy(part, part[len(part)-len(text):])
	}
}

// Latent is Input for a latent; it checks that the file begins as one.
func (s *Streams) Latent(ctx context.Context, path string) (string, error) {
	own, err := s.Input(ctx, path)
	if err != nil || path != Stream || slices.Contains([]string{".safetensors", ".npy", ".npz", ".pt"}, filepath.Ext(own)) {
		return own, err
	}
	f, err := os.Open(own)
	if err != nil {
		return "", fmt.Errorf("%s: %w", Stdin, err)
	}
	defer f.Close()
	if err := format.Foreign(f, ""); err != nil {
		return "", job.BadInput("%s: %w", Stdin, err)
	}
	return "", job.BadInput("%s: not a latent, expected .safetensors, .latent, .npy, .npz, .pt or .pth", Stdin)
}

// spoolTo copies r to a file while the disk has room to spare.
func spoolTo(path string, r io.Reader) error {
	const part, spare = 16 << 20, 256 << 20
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", Stdin, err)
	}
	defer f.Close()
	for size := int64(0); ; size += part {
		if free, known := FreeSpace(os.TempDir()); known && free < spare {
			return fmt.Errorf("%s: %s read, and only %s are free in %s, expected %s to spare; TMPDIR names another folder",
				Stdin, engine.Bytes(size), engine.Bytes(free), os.TempDir(), engine.Bytes(spare))
		}
		switch _, err := io.CopyN(f, r, part); {
		case err == io.EOF:
			return f.Close()
		case err != nil:
			return fmt.Errorf("%s: %w", Stdin, err)
		}
	}
}

// Ending returns the extension for a file with these first bytes; "" for formats that
// ffmpeg detects.
func Ending(head []byte) string {
	zip := bytes.HasPrefix(head, []byte("PK\x03\x04"))
	switch {
	case bytes.HasPrefix(head, []byte("YUV4MPEG2")):
		return ".y4m"
	case bytes.HasPrefix(head, []byte("\x93NUMPY")):
		return ".npy"
	case media.PictureEnding(head) != "":
		return media.PictureEnding(head)
	case zip && bytes.Contains(head, []byte(".npy")):
		return ".npz"
	case zip:
		return ".pt"
	case len(head) > 8 && head[8] == '{' && bytes.Equal(head[5:8], []byte{0, 0, 0}):
		return ".safetensors"
	}
	return ""
}
