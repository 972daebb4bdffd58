package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// FileName is a path in JSON. A byte 0xNN that is not UTF-8 becomes the surrogate U+DCNN,
// which Python's json.loads and os.fsencode convert back to the byte (PEP 383);
// encoding/json would lose it.
type FileName string

// MarshalJSON writes the path.
func (f FileName) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('"')
	for rest := string(f); rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\udc%02x`, rest[0])
		} else {
			text, err := json.Marshal(rest[:size])
			if err != nil {
				return nil, err
			}
			b.Write(text[1 : len(text)-1])
		}
		rest = rest[size:]
	}
	b.WriteByte('"')
	return b.Bytes(), nil
}

// FileNames converts paths.
func FileNames(paths ...string) (names []FileName) {
	for _, path := range paths {
		names = append(names, FileName(path))
	}
	return names
}
