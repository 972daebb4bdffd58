//go:build !js

package media

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// truncation describes what is missing at the end of a file that ffmpeg reads without an
// error; "" if nothing is missing.
func truncation(path, format string) (string, error) {
	ends := map[string]func(*bufio.Reader) (string, error){"gif": gifEnd, "mpegts": transportEnd}[format]
	if ends == nil {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("media: %w", err)
	}
	defer f.Close()
	text, err := ends(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return "", fmt.Errorf("media: %s: %w", path, err)
	}
	return text, nil
}

// transportEnd checks that a transport stream ends with a whole packet.
func transportEnd(r *bufio.Reader) (string, error) {
	n, err := io.Copy(io.Discard, r)
	if err != nil || n%188 == 0 || n%192 == 0 || n%204 == 0 {
		return "", err
	}
	return "ends within a packet", nil
}

// gifEnd walks over a GIF's blocks to its last one.
func gifEnd(r *bufio.Reader) (string, error) {
	err := gifBlocks(r)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "ends before GIF's last block", nil
	}
	return "", err
}

func gifBlocks(r *bufio.Reader) error {
	header := make([]byte, 13)
	if _, err := io.ReadFull(r, header); err != nil {
		return err
	}
	if err := skipPalette(r, header[10]); err != nil {
		return err
	}
	for {
		kind, err := r.ReadByte()
		switch {
		case err != nil || kind == ';':
			return err
		case kind == '!':
			_, err = r.Discard(1)
		case kind == ',':
			descriptor := make([]byte, 9)
			if _, err = io.ReadFull(r, descriptor); err == nil {
				err = skipPalette(r, descriptor[8])
			}
			if err == nil {
				_, err = r.Discard(1) // bits per code
			}
		default:
			return nil // no longer a GIF: ffmpeg has reported it, or ignores it
		}
		if err == nil {
			err = skipParts(r)
		}
		if err != nil {
			return err
		}
	}
}

// skipPalette skips the palette that a descriptor's flags announce.
func skipPalette(r *bufio.Reader, flags byte) error {
	if flags&0x80 == 0 {
		return nil
	}
	_, err := r.Discard(3 << (flags&7 + 1))
	return err
}

// skipParts skips a block's parts, up to the empty one.
func skipParts(r *bufio.Reader) error {
	for {
		n, err := r.ReadByte()
		if err != nil || n == 0 {
			return err
		}
		if _, err := r.Discard(int(n)); err != nil {
			return err
		}
	}
}
