//go:build !js

package media

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"io"
)

// A file may have many small parts; these limit how many are stored.
const (
	maxAnimation = 1 << 20 // parts
	maxChunks    = 1 << 28 // bytes of a PNG picture, which is read at once
)

// defaultSeconds is how long a picture with duration 0 is shown, as in browsers.
const defaultSeconds = 0.1

// walk calls do for each part of a file of size bytes, with the position of its data. It
// ends after the part called last. If the file ends earlier, it returns a damagedError.
func (p pictureParts) walk(r io.ReaderAt, size int64, last string, do func(name string, at, length int64) error) error {
	head := make([]byte, p.head)
	at := p.first
	for n := 0; n < maxAnimation; n++ {
		if at >= size && last == "" {
			return nil
		}
		if _, err := r.ReadAt(head, at); err != nil {
			return &damagedError{"damaged: it ends before its last picture"}
		}
		name, length, behind := p.next(head, at)
		if at+int64(p.head)+length > size {
			return &damagedError{"damaged: it ends within a picture"}
		}
		if err := do(name, at+int64(p.head), length); err != nil || name == last {
			return err
		}
		at = behind
	}
	return fmt.Errorf("has more than %d parts", maxAnimation)
}

// webpAnimated reports whether a WebP file says that it is animated, pngAnimated whether
// a PNG does. A file of one picture does not.
func webpAnimated(r io.ReadSeeker) bool {
	head := webpParts.find(r, "VP8X", "")
	return len(head) > 0 && head[0]&0x02 != 0
}

func pngAnimated(r io.ReadSeeker) bool {
	control := pngParts.find(r, "acTL", "")
	return len(control) >= 4 && binary.BigEndian.Uint32(control) > 1
}

// webpAnimation finds the pictures of an animated WebP file.
func webpAnimation(r io.ReaderAt, size int64) (parts []animationPart, err error) {
	var riff [8]byte
	if _, err := r.ReadAt(riff[:], 0); err != nil {
		return nil, err
	}
	end := 8 + int64(binary.LittleEndian.Uint32(riff[4:]))
	err = webpParts.walk(r, min(size, end), "", func(name string, at, length int64) error {
		if name != "ANMF" {
			return nil
		}
		head := make([]byte, 20) // of the picture, with the name of its first part
		if _, err := r.ReadAt(head, at); err != nil || length < 24 {
			return fmt.Errorf("picture %d of its animation has %d bytes, expected at least 24", len(parts), length)
		}
		u24 := func(i int) int { return int(head[i]) | int(head[i+1])<<8 | int(head[i+2])<<16 }
		x, y, w, h := 2*u24(0), 2*u24(3), u24(6)+1, u24(9)+1
		p := animationPart{at: image.Rect(x, y, x+w, y+h), seconds: float64(u24(12)) / 1000, over: head[15]&2 == 0}
		if head[15]&1 != 0 {
			p.after = cleared
		}
		if p.seconds == 0 {
			p.seconds = defaultSeconds
		}
		alone := []byte("RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00")
		binary.LittleEndian.PutUint32(alone[4:], uint32(4+18+length-16))
		if string(head[16:]) == "ALPH" {
			alone[20] = 0x10
		}
		alone = append(append(alone, head[6:9]...), head[9:12]...)
		p.data = func() (io.Reader, error) {
			return io.MultiReader(bytes.NewReader(alone), io.NewSectionReader(r, at+16, length-16)), nil
		}
		parts = append(parts, p)
		return nil
	})
	if err == nil && end > size {
		err = &damagedError{"damaged: it ends before its last picture"}
	}
	return parts, err
}

// pngAnimation finds the pictures of an animated PNG file. The picture for programs
// without animation need not be one of them.
func pngAnimation(r io.ReaderAt, size int64) (parts []animationPart, err error) {
	var header []byte // IHDR's data
	var shared []byte // chunks that belong to all pictures
	type chunk struct{ at, length int64 }
	var pieces [][]chunk // per picture
	chunkAt := func(at, length int64) ([]byte, error) {
		data := make([]byte, length)
		_, err := r.ReadAt(data, at)
		return data, err
	}
	err = pngParts.walk(r, size, "IEND", func(name string, at, length int64) error {
		switch name {
		case "IHDR":
			header, err = chunkAt(at, min(length, 13))
			return err
		case "PLTE", "tRNS":
			data, err := chunkAt(at, min(length, 1<<10))
			shared = appendChunk(shared, name, data)
			return err
		case "fcTL":
			head, err := chunkAt(at, 26)
			if err != nil || length != 26 {
				return fmt.Errorf("picture %d of its animation has a head of %d bytes, expected 26", len(parts), length)
			}
			parts = append(parts, pngPart(head))
			pieces = append(pieces, nil)
		case "IDAT":
			if n := len(pieces); n > 0 {
				pieces[n-1] = append(pieces[n-1], chunk{at, length})
			}
		case "fdAT":
			if n := len(pieces); n > 0 && length >= 4 {
				pieces[n-1] = append(pieces[n-1], chunk{at + 4, length - 4})
			}
		}
		return nil
	})
	if len(header) < 13 {
		return nil, fmt.Errorf("begins without a PNG header")
	}
	for i := range parts {
		p := &parts[i]
		p.data = func() (io.Reader, error) {
			own := bytes.Clone(header)
			binary.BigEndian.PutUint32(own, uint32(p.at.Dx()))
			binary.BigEndian.PutUint32(own[4:], uint32(p.at.Dy()))
			alone := append(appendChunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", own), shared...)
			for _, c := range pieces[i] {
				if c.length > maxChunks-int64(len(alone)) {
					return nil, fmt.Errorf("has more than %d bytes", maxChunks)
				}
				data, err := chunkAt(c.at, c.length)
				if err != nil {
					return nil, err
				}
				alone = appendChunk(alone, "IDAT", data)
			}
			return bytes.NewReader(appendChunk(alone, "IEND", nil)), nil
		}
	}
	if n := len(parts); err != nil && n > 0 { // the file may end within the last picture's data
		parts = parts[:n-1]
	}
	return parts, err
}

// pngPart reads a picture's header, without its data.
func pngPart(head []byte) animationPart {
	be := binary.BigEndian
	const most = 1 << 30 // every side is shorter
	w, h := int(min(be.Uint32(head[4:]), most)), int(min(be.Uint32(head[8:]), most))
	x, y := int(min(be.Uint32(head[12:]), most)), int(min(be.Uint32(head[16:]), most))
	p := animationPart{at: image.Rect(x, y, x+w, y+h), over: head[25] == 1}
	if ticks, unit := be.Uint16(head[20:]), be.Uint16(head[22:]); unit == 0 {
		p.seconds = float64(ticks) / 100
	} else {
		p.seconds = float64(ticks) / float64(unit)
	}
	if p.seconds == 0 {
		p.seconds = defaultSeconds
	}
	switch head[24] {
	case 1:
		p.after = cleared
	case 2:
		p.after = undone
	}
	return p
}

// appendChunk appends a PNG chunk.
func appendChunk(b []byte, name string, data []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(data)))
	from := len(b)
	b = append(append(b, name...), data...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[from:]))
}
