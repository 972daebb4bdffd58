// Package json reads JSON token by token, strictly, and moves flat Go structs to and from
// it. It does what the file headers and the page's messages need, in a tenth of the size
// that encoding/json adds to the browser's build, and behaves like that package where
// they overlap.
//
// Start at NewDecoder, Marshal and Unmarshal:
//
//	var v struct {
//		Width int `json:"width"`
//	}
//	err := json.Unmarshal([]byte(`{"width": 832}`), &v)
package json

import (
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Token is nil, a bool, a string, a Number or a Delim.
type Token any

// Delim is one of { } [ ].
type Delim byte

// Number is a number as written.
type Number string

// Decoder splits a text into tokens. It checks commas and colons, but does not return
// them.
type Decoder struct {
	text []byte
	at   int
	open []byte // brackets that are open
	want state
}

// state is what may come next.
type state uint8

const (
	value      state = iota // a value
	firstValue              // or the end of the array
	firstKey                // a key, or the end of the object
	key
	comma // or the end of the array or object
	done  // nothing
)

// NewDecoder returns a decoder for one value and what follows it.
func NewDecoder(text []byte) *Decoder { return &Decoder{text: text} }

// InputOffset returns where the last token ended.
func (d *Decoder) InputOffset() int64 { return int64(d.at) }

// More reports whether the open array or object has more members.
func (d *Decoder) More() bool {
	c := d.peek()
	return c != 0 && c != ']' && c != '}'
}

// Token returns the next token; io.EOF if the text ends after a value.
func (d *Decoder) Token() (Token, error) {
	c := d.peek()
	if d.want == comma && c == ',' {
		d.at++
		d.want = value
		if d.open[len(d.open)-1] == '{' {
			d.want = key
		}
		c = d.peek()
	}
	switch {
	case d.at == len(d.text):
		if d.want == done {
			return nil, io.EOF
		}
		return nil, io.ErrUnexpectedEOF
	case d.want == done:
		return nil, d.unexpected("the end")
	case c == '}' && (d.want == firstKey || d.want == comma && d.open[len(d.open)-1] == '{'),
		c == ']' && (d.want == firstValue || d.want == comma && d.open[len(d.open)-1] == '['):
		d.at++
		d.open = d.open[:len(d.open)-1]
		d.ended()
		return Delim(c), nil
	case d.want == comma:
		return nil, d.unexpected("a comma or a closing bracket")
	case d.want == key || d.want == firstKey:
		return d.key(c)
	}
	return d.value(c)
}

// peek returns the next byte that is not a space, 0 at the end.
func (d *Decoder) peek() byte {
	for ; d.at < len(d.text); d.at++ {
		switch c := d.text[d.at]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// ended records that a value is complete.
func (d *Decoder) ended() {
	d.want = comma
	if len(d.open) == 0 {
		d.want = done
	}
}

func (d *Decoder) unexpected(expected string) error {
	return fmt.Errorf("unexpected %q, expected %s", d.text[d.at:min(d.at+1, len(d.text))], expected)
}

func (d *Decoder) key(c byte) (Token, error) {
	if c != '"' {
		return nil, d.unexpected("a key")
	}
	name, err := d.string()
	if err != nil {
		return nil, err
	}
	if c := d.peek(); c != ':' {
		if d.at == len(d.text) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, d.unexpected("a colon")
	}
	d.at++
	d.want = value
	return name, nil
}

func (d *Decoder) value(c byte) (Token, error) {
	var t Token
	var err error
	switch {
	case c == '{' || c == '[':
		d.at++
		d.open = append(d.open, c)
		d.want = firstValue
		if c == '{' {
			d.want = firstKey
		}
		return Delim(c), nil
	case c == '"':
		t, err = d.string()
	case c == '-' || '0' <= c && c <= '9':
		t, err = d.number()
	default:
		t, err = d.word()
	}
	if err == nil {
		d.ended()
	}
	return t, err
}

func (d *Decoder) word() (Token, error) {
	for word, v := range map[string]Token{"null": nil, "true": true, "false": false} {
		if n := min(len(word), len(d.text)-d.at); string(d.text[d.at:d.at+n]) == word[:n] {
			if n < len(word) {
				return nil, io.ErrUnexpectedEOF
			}
			d.at += n
			return v, nil
		}
	}
	return nil, d.unexpected("a value")
}

// number reads an optional minus, an integer without leading zeros, an optional fraction
// and an optional exponent.
func (d *Decoder) number() (Token, error) {
	start := d.at
	skip := func(set string) bool {
		for i := range len(set) {
			if d.at < len(d.text) && d.text[d.at] == set[i] {
				d.at++
				return true
			}
		}
		return false
	}
	digits := func() error {
		from := d.at
		for d.at < len(d.text) && '0' <= d.text[d.at] && d.text[d.at] <= '9' {
			d.at++
		}
		if d.at > from {
			return nil
		}
		if d.at == len(d.text) {
			return io.ErrUnexpectedEOF
		}
		return d.unexpected("a digit")
	}
	skip("-")
	if !skip("0") {
		if err := digits(); err != nil {
			return nil, err
		}
	}
	if skip(".") {
		if err := digits(); err != nil {
			return nil, err
		}
	}
	if skip("eE") {
		skip("+-")
		if err := digits(); err != nil {
			return nil, err
		}
	}
	return Number(d.text[start:d.at]), nil
}

// string reads from one quote to the next. Invalid UTF-8, or half of a surrogate pair,
// becomes U+FFFD.
func (d *Decoder) string() (string, error) {
	d.at++
	var s []byte
	for d.at < len(d.text) {
		switch c := d.text[d.at]; {
		case c == '"':
			d.at++
			return string(s), nil
		case c < ' ':
			return "", d.unexpected("no control character in a string")
		case c == '\\':
			r, err := d.escape()
			if err != nil {
				return "", err
			}
			s = utf8.AppendRune(s, r)
		default:
			r, n := utf8.DecodeRune(d.text[d.at:])
			s = utf8.AppendRune(s, r)
			d.at += n
		}
	}
	return "", io.ErrUnexpectedEOF
}

// escape reads from a backslash on.
func (d *Decoder) escape() (rune, error) {
	if len(d.text)-d.at < 2 {
		d.at = len(d.text)
		return 0, io.ErrUnexpectedEOF
	}
	d.at++
	c := d.text[d.at]
	if c == 'u' {
		r, err := d.unit()
		if err != nil || !utf16.IsSurrogate(r) {
			return r, err
		}
		before := d.at
		if len(d.text)-d.at > 1 && d.text[d.at] == '\\' && d.text[d.at+1] == 'u' {
			d.at++
			low, err := d.unit()
			if err != nil {
				return 0, err
			}
			if both := utf16.DecodeRune(r, low); both != utf8.RuneError {
				return both, nil
			}
			d.at = before
		}
		return utf8.RuneError, nil
	}
	for i := range len(escaped) {
		if c == escaped[i] {
			d.at++
			return rune(meant[i]), nil
		}
	}
	return 0, d.unexpected("an escape such as \\n")
}

// A backslash and a byte of escaped mean the byte at the same position of meant.
const (
	escaped = `"\/bfnrt`
	meant   = "\"\\/\b\f\n\r\t"
)

// unit reads uXXXX.
func (d *Decoder) unit() (rune, error) {
	d.at++
	if len(d.text)-d.at < 4 {
		d.at = len(d.text)
		return 0, io.ErrUnexpectedEOF
	}
	var r rune
	for range 4 {
		v, err := strconv.ParseUint(string(d.text[d.at:d.at+1]), 16, 8)
		if err != nil {
			return 0, d.unexpected("a hexadecimal digit")
		}
		r = r<<4 | rune(v)
		d.at++
	}
	return r, nil
}
