package quote

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestText(t *testing.T) {
	for s, want := range map[string]string{
		"decoder.conv_in.weight":    "decoder.conv_in.weight",
		`C:\clips\ördek 1.mp4`:      `C:\clips\ördek 1.mp4`,
		"\x1b]0;owned\a\x1b[2J":     `\x1b]0;owned\a\x1b[2J`,
		"a\u202egpj.exe":            `a\u202egpj.exe`,
		"\u009b31m, \u200b, \u2028": `\u009b31m, \u200b, \u2028`,
		"a\r\ntessera: done":        `a\r\ntessera: done`,
		"\xff\xfe":                  `\xff\xfe`,
		strings.Repeat("é", 400):    strings.Repeat("é", 250) + "… (800 bytes)",
	} {
		assert.Equal(t, want, Text(s))
	}
}

func TestMessage(t *testing.T) {
	require.Equal(t, "no adapter:\n  one\n  two\n", Message("no adapter:\none\n  two\n"))
	require.Equal(t, `media: a\x1b[1m`, Message("media: a\x1b[1m"))
	require.Len(t, Message(strings.Repeat("x", 1<<20)), 8000+len("… (1048576 bytes)"))
	require.Equal(t, strings.Repeat(`\x00`, 8000)+"… (9000 bytes)", Message(strings.Repeat("\x00", 9000)))
}

func TestList(t *testing.T) {
	require.Equal(t, "", List(nil, ", "))
	require.Equal(t, `a; "b\x1b"`, List([]string{"a", "b\x1b"}, "; "))
	var many []string
	for i := range 100_000 {
		many = append(many, fmt.Sprint(i))
	}
	require.Equal(t, "0, 1, 2, 3, 4, 5, 6, 7 and 99992 more", List(many, ", "))
	require.Less(t, len(List([]string{strings.Repeat("y", 1<<20)}, ", ")), 200)
}

func TestMap(t *testing.T) {
	told, more := Map(map[string]string{"a\x1b": strings.Repeat("x", 1000), "b": "c"})
	require.Zero(t, more)
	require.Equal(t, map[string]string{`a\x1b`: strings.Repeat("x", 500) + "… (1000 bytes)", "b": "c"}, told)
	many := map[string]string{}
	for i := range 60 {
		many[fmt.Sprintf("%02d", i)] = ""
	}
	told, more = Map(many)
	require.Len(t, told, 50)
	require.Equal(t, 10, more)
	require.NotContains(t, told, "50")
}

func TestName(t *testing.T) {
	require.Equal(t, `"a\x1bb"`, Name("a\x1bb"))
	require.Equal(t, `"`+strings.Repeat("z", 120)+`"… (121 bytes)`, Name(strings.Repeat("z", 121)))
}

// FuzzMessage: for any text, the result is printable and shortened.
func FuzzMessage(f *testing.F) {
	f.Add("a\x1b[2J\u202e\n\xff")
	f.Add(strings.Repeat("\x00", 600))
	f.Fuzz(func(t *testing.T, s string) {
		for _, out := range []string{Text(s), Message(s), Name(s), List([]string{s, s}, "; ")} {
			require.True(t, utf8.ValidString(out))
			require.Less(t, len(out), 10*maxMessage)
			i := strings.IndexFunc(out, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) })
			require.Negative(t, i, "%q", out)
		}
		require.NotContains(t, Text(s), "\n")
	})
}
