// Package quote prints text from untrusted files: names, metadata, and messages that
// contain them. It escapes control characters and direction marks, and shortens long
// text:
//
//	fmt.Printf("%s: no tensor %s\n", quote.Name(path), quote.Text(name))
package quote

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxName    = 120  // bytes of a name
	maxText    = 500  // of a value or path
	maxMessage = 8000 // of a message
	maxListed  = 8    // names in a list
	maxKeys    = 50   // of metadata
)

// Name quotes s as Go does, and shortens it.
func Name(s string) string {
	if len(s) > maxName {
		return fmt.Sprintf("%q… (%d bytes)", s[:maxName], len(s))
	}
	return strconv.Quote(s)
}

// Text returns s on one line, without quotes. It escapes unprintable characters and
// shortens long text.
func Text(s string) string { return escape(s, maxText, false) }

// Message returns a whole message, which may have several lines. Only the first line can
// begin like one of the program's.
func Message(s string) string { return escape(s, maxMessage, true) }

// List joins names with the separator and says how many it omits. It quotes a name that
// is unprintable or too long.
func List(names []string, separator string) string {
	var b strings.Builder
	for i, name := range names {
		if i == maxListed {
			fmt.Fprintf(&b, " and %d more", len(names)-maxListed)
			break
		}
		if i > 0 {
			b.WriteString(separator)
		}
		if len(name) > maxName || Text(name) != name {
			name = Name(name)
		}
		b.WriteString(name)
	}
	return b.String()
}

// Map returns the first keys and values of a file's metadata as Text, and the number of
// omitted ones.
func Map(m map[string]string) (told map[string]string, more int) {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	sort.Stable(sort.StringSlice(keys))
	told = map[string]string{}
	for _, key := range keys[:min(len(keys), maxKeys)] {
		told[Text(key)] = Text(m[key])
	}
	return told, len(m) - len(told)
}

// escape returns the first bytes of s, escaped.
func escape(s string, most int, lines bool) string {
	cut := len(s) > most
	rest := s
	if cut {
		rest = s[:most]
		for !utf8.RuneStart(s[len(rest)]) && len(rest) > most-utf8.UTFMax {
			rest = rest[:len(rest)-1]
		}
	}
	var b strings.Builder
	for len(rest) > 0 {
		r, size := utf8.DecodeRuneInString(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, rest[0])
		case r == '\n' && lines:
			b.WriteByte('\n')
			if next := rest[size:]; next != "" && next[0] != ' ' && next[0] != '\n' {
				b.WriteString("  ")
			}
		case strconv.IsPrint(r):
			b.WriteString(rest[:size])
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		rest = rest[size:]
	}
	if cut {
		fmt.Fprintf(&b, "… (%d bytes)", len(s))
	}
	return b.String()
}
