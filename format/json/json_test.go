package json

import (
	"bytes"
	std "encoding/json"
	"errors"
	"io"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// texts returns valid, broken and odd texts.
func texts() []string {
	return []string{
		``, ` `, `null`, `true`, `false`, `nul`, `truex`, `0`, `-0`, `01`, `1.`, `.5`, `1.5e+3`, `1e`, `-`, `1E-2`, `12a`,
		`""`, `"a`, `"\n\t\"\\\/\b\f\r"`, `"\u0041\u00e9\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00"`, `"\u12"`, `"\u12g4"`, `"\x"`, `"\`,
		"\"\xff\"", "\"\xed\xa0\x80\"", "\"a\nb\"", "\"\x00\"", "\x00",
		`[]`, `[1]`, `[1,2]`, `[1,]`, `[,]`, `[1 2]`, `[`, `[1`, `[1,`, `]`, `[}`,
		`{}`, `{"a":1}`, `{"a":1,"b":[{"c":null}]}`, `{"a":1,}`, `{"a"}`, `{"a":}`, `{a:1}`, `{1:2}`, `{,}`, `{"a":1 "b":2}`, `{"a" 1}`, `{"a":1]`, `{`, `{"a"`, `{"a":`, `{}{}`, `[] []`, `1 2`,
		" \t\r\n{ \"a\" : [ 1 , 2 ] } \n",
	}
}

// tokens reads until an error. end says how it ended: "" for the end of the text, "cut"
// for a truncated text.
func tokens(next func() (any, error)) (list []any, end string) {
	for {
		t, err := next()
		switch {
		case errors.Is(err, io.EOF):
			return list, ""
		case errors.Is(err, io.ErrUnexpectedEOF):
			return list, "cut"
		case err != nil:
			return list, "bad"
		}
		list = append(list, t)
	}
}

// checkTokens compares with encoding/json for a single value. That package's Token does
// not check what is between tokens, so json.Valid decides.
func checkTokens(t *testing.T, text []byte) {
	d := NewDecoder(text)
	got, end := tokens(func() (any, error) {
		v, err := d.Token()
		switch v := v.(type) {
		case Delim:
			return std.Delim(v), err
		case Number:
			return std.Number(v), err
		}
		return v, err
	})
	valid := std.Valid(text)
	require.Equal(t, valid, end == "", "%q: ended %q", text, end)
	if !valid {
		return
	}
	ref := std.NewDecoder(bytes.NewReader(text))
	ref.UseNumber()
	want, _ := tokens(func() (any, error) { return ref.Token() })
	require.Equal(t, want, got, "%q", text)
}

func TestTokens(t *testing.T) {
	for _, text := range texts() {
		checkTokens(t, []byte(text))
	}
}

func FuzzTokens(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(checkTokens)
}

type inner struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
}

type message struct {
	Type  string         `json:"type"`
	ID    int            `json:"id"`
	Seed  uint64         `json:"seed"`
	FPS   float64        `json:"fps"`
	On    bool           `json:"on"`
	Maybe *bool          `json:"maybe"`
	In    inner          `json:"in"`
	List  []int          `json:"list"`
	Table map[string]int `json:"table"`
}

// encoding/json reads what Marshal writes, and Unmarshal reads what encoding/json writes.
func TestStructs(t *testing.T) {
	yes := true
	m := message{
		"a\"\\\n\x01é😀\u2028", -3, math.MaxUint64, 29.97e-9, true, &yes, inner{"x", math.MaxInt64}, []int{1, 2}, map[string]int{"b": 1, "a": 2},
	}
	var back message
	require.NoError(t, std.Unmarshal(Marshal(m), &back), "%s", Marshal(m))
	require.Equal(t, m, back)
	m.List, m.Table = nil, nil
	text, err := std.Marshal(m)
	require.NoError(t, err)
	back = message{}
	require.NoError(t, Unmarshal(text, &back), "%s", text)
	require.Equal(t, m, back)
	require.Equal(t, "[null,null,1]", string(Marshal([]float64{math.NaN(), math.Inf(1), 1})))
	require.Equal(t, `{"a":["�"],"b":null}`, string(Marshal(map[string]any{"b": (*inner)(nil), "a": []string{"\xff"}})))
}

func TestUnmarshalSkipsAndRefuses(t *testing.T) {
	var m message
	require.NoError(t, Unmarshal([]byte(`{"unknown":[{"id":[1,{"x":2}]},"y"],"id":7,"maybe":null,"in":{"z":1,"size":5}}`), &m))
	require.Equal(t, message{ID: 7, In: inner{Size: 5}}, m)
	for _, text := range []string{
		`[]`, `{"id":"7"}`, `{"id":1.5}`, `{"id":99999999999999999999}`, `{"type":1}`, `{"on":"x"}`, `{"in":[]}`, `{"in":3}`,
		`{"id":1}x`, `{"id":1`, `{"seed":-1}`, `{"unknown":` + string(bytes.Repeat([]byte("["), 100)),
	} {
		assert.Error(t, Unmarshal([]byte(text), &message{}), text)
	}
}
