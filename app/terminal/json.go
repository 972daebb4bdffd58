package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Print writes v as JSON and escapes terminal control characters in it.
func (t *Terminal) Print(v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	if !t.Lines {
		e.SetIndent("", "  ")
	}
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := t.Stdout.Write(printable(text.Bytes()))
	return err
}

// printable escapes the unprintable runes of JSON, which occur only in strings.
func printable(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || strconv.IsPrint(r):
			out = append(out, text[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}

// Text prints text that is neither a result nor a message.
func (t *Terminal) Text(s string) error {
	if t.JSON {
		return t.Print(map[string]string{"text": s})
	}
	_, err := fmt.Fprint(t.Stdout, s)
	return err
}
