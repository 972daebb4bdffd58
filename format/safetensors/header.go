package safetensors

import (
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"unicode/utf8"

	"tessera/format/json"
	"tessera/format/quote"
)

const (
	// maxHeader is the format's limit.
	maxHeader = 100_000_000
	// maxDepth limits the nesting of unknown fields, like serde_json.
	maxDepth = 128
	// maxRank limits hostile shapes; NumPy's limit is 64.
	maxRank = 64

	metadataKey = "__metadata__"
)

// entry is a tensor of the header; begin and end count from the first byte after the
// header.
type entry struct {
	name       string
	dtype      DType
	shape      []int
	begin, end int64
	elements   int64
}

type header struct {
	entries  []entry // by offset
	metadata map[string]string
}

// parseHeader reads the JSON text and checks it against dataSize, the number
// of bytes that follow it in the file.
func parseHeader(text []byte, dataSize int64) (header, error) {
	if !utf8.Valid(text) {
		return header{}, fmt.Errorf("header is not UTF-8 at byte %d", firstInvalid(text))
	}
	if len(text) == 0 || text[0] != '{' {
		return header{}, fmt.Errorf("header starts with %q, expected '{'", text[:min(len(text), 1)])
	}
	p := parser{dec: json.NewDecoder(text)}
	var h header
	err := p.object("header", func(key string) (err error) {
		if key == metadataKey {
			h.metadata, err = p.metadata()
			return err
		}
		e, err := p.tensor(key)
		h.entries = append(h.entries, e)
		return err
	})
	if err == nil {
		err = p.end()
	}
	if err != nil {
		return header{}, err
	}
	sort.Stable((*byOffset)(&h.entries))
	return h, checkOffsets(h.entries, dataSize)
}

// byOffset sorts entries. A generic sort of structs would add 13 kB to the page's engine.
type byOffset []entry

func (e *byOffset) Len() int      { return len(*e) }
func (e *byOffset) Swap(i, j int) { (*e)[i], (*e)[j] = (*e)[j], (*e)[i] }
func (e *byOffset) Less(i, j int) bool {
	if (*e)[i].begin != (*e)[j].begin {
		return (*e)[i].begin < (*e)[j].begin
	}
	return (*e)[i].end < (*e)[j].end
}

// checkOffsets checks that the entries, sorted by offset, cover the data without a gap,
// overlap or rest.
func checkOffsets(entries []entry, dataSize int64) error {
	var at int64
	before := "the start of the data"
	for i := range entries {
		e := &entries[i]
		where := "tensor " + quote.Name(e.name)
		if e.end < e.begin {
			return fmt.Errorf("%s: data_offsets [%d,%d] end before they begin", where, e.begin, e.end)
		}
		if e.begin > at {
			return fmt.Errorf("%s: data begins at %d, expected %d: a gap of %d bytes after %s",
				where, e.begin, at, e.begin-at, before)
		}
		if e.begin < at {
			return fmt.Errorf("%s: data begins at %d, expected %d: it overlaps %s", where, e.begin, at, before)
		}
		elements, size, err := extent(e.dtype, e.shape)
		if err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if size != e.end-e.begin {
			return fmt.Errorf("%s: data_offsets [%d,%d] hold %d bytes, shape %v of %s needs %d",
				where, e.begin, e.end, e.end-e.begin, e.shape, e.dtype, size)
		}
		e.elements, at, before = elements, e.end, where
	}
	if at > dataSize {
		return &Truncated{at, fmt.Sprintf("truncated: tensors end at byte %d of the data, the file holds %d", at, dataSize)}
	}
	if at < dataSize {
		return fmt.Errorf("tensors end at byte %d of the data, but %d more bytes follow, expected none", at, dataSize-at)
	}
	return nil
}

// parser reads the header token by token. encoding/json with a map would silently merge
// duplicate keys.
type parser struct{ dec *json.Decoder }

// object reads an object. It calls member for each key, and refuses a repeated key. what
// names the object in errors.
func (p parser) object(what string, member func(key string) error) error {
	tok, err := p.token()
	if err != nil {
		return err
	}
	if tok == nil && what == metadataKey {
		return nil // null means no metadata, as in the format's own library
	}
	if tok != json.Delim('{') {
		return fmt.Errorf("%s is %s, expected an object", what, describe(tok))
	}
	seen := map[string]bool{}
	for {
		tok, err := p.token()
		if err != nil {
			return err
		}
		key, ok := tok.(string)
		if !ok {
			return nil // the decoder allows only '}' here
		}
		if seen[key] {
			return fmt.Errorf("%s has the key %s twice", what, quote.Name(key))
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
	}
}

func (p parser) metadata() (map[string]string, error) {
	m := map[string]string{}
	err := p.object(metadataKey, func(key string) error {
		tok, err := p.token()
		if err != nil {
			return err
		}
		value, ok := tok.(string)
		if !ok {
			return fmt.Errorf("%s: value of %s is %s, expected a string", metadataKey, quote.Name(key), describe(tok))
		}
		m[key] = value
		return nil
	})
	return m, err
}

func (p parser) tensor(name string) (entry, error) {
	e := entry{name: name}
	var offsets []int64
	found := map[string]bool{}
	what := "tensor " + quote.Name(name)
	err := p.object(what, func(key string) (err error) {
		found[key] = true
		switch key {
		case "dtype":
			e.dtype, err = p.dtype()
		case "shape":
			var dims []int64
			dims, err = p.integers(maxRank)
			for _, d := range dims {
				e.shape = append(e.shape, int(d))
			}
		case "data_offsets":
			if offsets, err = p.integers(2); err == nil && len(offsets) != 2 {
				err = fmt.Errorf("has %d numbers, expected 2", len(offsets))
			}
		default:
			return p.skip(what, 0) // as in the format's own library
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", what, key, err)
		}
		return nil
	})
	if err != nil {
		return e, err
	}
	for _, key := range []string{"dtype", "shape", "data_offsets"} {
		if !found[key] {
			return e, fmt.Errorf("%s has no %s", what, key)
		}
	}
	e.begin, e.end = offsets[0], offsets[1]
	return e, nil
}

func (p parser) dtype() (DType, error) {
	tok, err := p.token()
	if err != nil {
		return "", err
	}
	s, ok := tok.(string)
	if !ok {
		return "", fmt.Errorf("is %s, expected a string", describe(tok))
	}
	if DType(s).Bits() == 0 {
		return "", fmt.Errorf("%s is unknown, expected one such as F16, BF16, F32 or F64", quote.Name(s))
	}
	return DType(s), nil
}

// integers reads an array of at most most non-negative integers.
func (p parser) integers(most int) ([]int64, error) {
	tok, err := p.token()
	if err != nil {
		return nil, err
	}
	if tok != json.Delim('[') {
		return nil, fmt.Errorf("is %s, expected an array of integers", describe(tok))
	}
	var list []int64
	for {
		tok, err := p.token()
		if err != nil {
			return nil, err
		}
		if tok == json.Delim(']') {
			return list, nil
		}
		text, ok := tok.(json.Number)
		if !ok {
			return nil, fmt.Errorf("holds %s, expected integers", describe(tok))
		}
		n, err := strconv.ParseUint(string(text), 10, 64)
		if err != nil || n > math.MaxInt64 {
			return nil, fmt.Errorf("holds %s, expected integers from 0 to 2^63-1", describe(tok))
		}
		if len(list) == most {
			return nil, fmt.Errorf("has more than %d numbers", most)
		}
		list = append(list, int64(n))
	}
}

// skip reads a value of any kind and also refuses repeated keys in it.
func (p parser) skip(what string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s nests deeper than %d", what, maxDepth)
	}
	tok, err := p.token()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	switch tok {
	case json.Delim('['):
		for p.dec.More() {
			if err := p.skip(what, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		for p.dec.More() {
			tok, err := p.token()
			if err != nil {
				return err
			}
			key, _ := tok.(string)
			if seen[key] {
				return fmt.Errorf("%s has the key %s twice", what, quote.Name(key))
			}
			seen[key] = true
			if err := p.skip(what, depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = p.token() // the closing bracket
	return err
}

func (p parser) token() (json.Token, error) {
	tok, err := p.dec.Token()
	if err == nil {
		return tok, nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return nil, fmt.Errorf("header is not JSON near byte %d: %w", p.dec.InputOffset(), err)
}

// end allows only white space after the object.
func (p parser) end() error {
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("header continues after its object at byte %d, expected only spaces", p.dec.InputOffset())
	}
	return nil
}

func describe(tok json.Token) string {
	switch v := tok.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "the string " + quote.Name(v)
	case json.Number:
		if len(v) > 40 {
			return "a very long number"
		}
		return string(v)
	case json.Delim:
		if v == '[' {
			return "an array"
		}
		return "an object"
	}
	return fmt.Sprintf("%v", tok)
}

func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(text)
}
