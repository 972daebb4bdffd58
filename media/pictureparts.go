//go:build !js

package media

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
)

// pictureParts describes how a file consists of segments or chunks, some of which say how
// to show the picture.
type pictureParts struct {
	first int64 // offset of the first
	head  int   // bytes before a part's data
	// next reads what is before a part's data, and returns its name, length and the
	// offset of the next part; "" is the end.
	next                func(head []byte, at int64) (name string, length, behind int64)
	exif, exifBegins    string
	profiles, iccBegins string
}

var pngParts = pictureParts{8, 8, func(b []byte, at int64) (string, int64, int64) {
	length := int64(binary.BigEndian.Uint32(b))
	return string(b[4:]), length, at + 12 + length
}, "eXIf", "", "iCCP", ""}

var jpegParts = pictureParts{2, 4, func(b []byte, at int64) (string, int64, int64) {
	length := int64(binary.BigEndian.Uint16(b[2:]))
	switch {
	case b[0] != 0xff || b[1] == 0xda: // the picture
		return "", 0, 0
	case b[1] == 0xff:
		return "filling", 0, at + 1
	case length < 2:
		return "", 0, 0
	}
	return string(b[:2]), length - 2, at + 2 + length
}, "\xff\xe1", "Exif\x00\x00", "\xff\xe2", "ICC_PROFILE\x00\x01"}

var webpParts = pictureParts{12, 8, func(b []byte, at int64) (string, int64, int64) {
	length := int64(binary.LittleEndian.Uint32(b[4:]))
	return string(b[:4]), length, at + 8 + length + length%2
}, "EXIF", "", "ICCP", ""}

// maxParts limits the parts that are examined, maxPart the bytes of one: the longest JPEG
// segment.
const (
	maxParts = 1 << 14
	maxPart  = 1 << 16
)

// find returns the beginning of the first part with the name whose data begins so, or
// nil.
func (p pictureParts) find(r io.ReadSeeker, name, begins string) []byte {
	head := make([]byte, p.head)
	for at, n := p.first, 0; n < maxParts; n++ {
		if _, err := r.Seek(at, io.SeekStart); err != nil {
			return nil
		}
		if _, err := io.ReadFull(r, head); err != nil {
			return nil
		}
		found, length, behind := p.next(head, at)
		if found == "" {
			return nil
		}
		if found == name {
			data, _ := io.ReadAll(io.LimitReader(r, min(length, maxPart)))
			if bytes.HasPrefix(data, []byte(begins)) {
				return data[len(begins):]
			}
		}
		at = behind
	}
	return nil
}

// turn returns the orientation, 1 if the file states none.
func (p pictureParts) turn(r io.ReadSeeker) turn {
	return exifTurn(bytes.TrimPrefix(p.find(r, p.exif, p.exifBegins), []byte("Exif\x00\x00")))
}

// exifTurn finds the orientation, 1 if there is no valid one.
func exifTurn(b []byte) turn {
	if len(b) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(b[:2]) {
	case "II":
	case "MM":
		order = binary.BigEndian
	default:
		return 1
	}
	at := int64(order.Uint32(b[4:]))
	if at+2 > int64(len(b)) {
		return 1
	}
	entries := b[at+2:]
	for n := order.Uint16(b[at:]); n > 0 && len(entries) >= 12; n-- {
		if order.Uint16(entries) == 0x0112 && order.Uint16(entries[2:]) == 3 {
			if o := turn(order.Uint16(entries[8:])); o >= 1 && o <= 8 {
				return o
			}
			return 1
		}
		entries = entries[12:]
	}
	return 1
}

// profile names the profile of the file's colours; it is "" without one, or if it is
// sRGB's, which is the default.
func (p pictureParts) profile(r io.ReadSeeker) string {
	data := p.find(r, p.profiles, p.iccBegins)
	switch {
	case data == nil:
		return ""
	case p.profiles == "iCCP":
		data = unpackProfile(data)
	case p.iccBegins != "" && len(data) > 0:
		data = data[1:] // number of segments
	}
	return shownProfile(data)
}

// shownProfile names a profile as profile does.
func shownProfile(data []byte) string {
	name := profileName(data)
	switch {
	case name == "":
		return "without a name"
	case strings.Contains(strings.ToLower(name), "srgb"):
		return ""
	}
	return fmt.Sprintf("%.60q", name)
}

// unpackProfile inflates PNG's compressed profile, which follows a name.
func unpackProfile(data []byte) []byte {
	_, packed, ok := bytes.Cut(data, []byte{0, 0})
	if !ok {
		return nil
	}
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	profile, _ := io.ReadAll(io.LimitReader(r, maxPart))
	return profile
}

// profileName returns an ICC profile's description, "" if it has no readable one.
func profileName(b []byte) string {
	be := binary.BigEndian
	if len(b) < 132 {
		return ""
	}
	tags := b[132:]
	for n := be.Uint32(b[128:]); n > 0 && len(tags) >= 12; n-- {
		at, length := int64(be.Uint32(tags[4:])), int64(be.Uint32(tags[8:]))
		if string(tags[:4]) == "desc" && length >= 12 && at+length <= int64(len(b)) {
			return description(b[at : at+length])
		}
		tags = tags[12:]
	}
	return ""
}

// description reads the first text of a tag of at least 12 bytes: ASCII in profiles of
// version 2, UTF-16 in version 4.
func description(tag []byte) string {
	be := binary.BigEndian
	switch string(tag[:4]) {
	case "desc":
		text := tag[12:]
		if n := int64(be.Uint32(tag[8:])); n < int64(len(text)) {
			text = text[:n]
		}
		return strings.TrimRight(string(text), "\x00")
	case "mluc":
		if len(tag) < 28 {
			return ""
		}
		length, at := int64(be.Uint32(tag[20:])), int64(be.Uint32(tag[24:]))
		if at+length > int64(len(tag)) {
			return ""
		}
		var text []uint16
		for text16 := tag[at : at+length]; len(text16) > 1; text16 = text16[2:] {
			text = append(text, be.Uint16(text16))
		}
		return string(utf16.Decode(text))
	}
	return ""
}
