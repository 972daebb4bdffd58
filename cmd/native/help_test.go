package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Without arguments, and with -h, help is one screen; --help has everything.
func TestHelpIsOneScreen(t *testing.T) {
	t.Parallel()
	bare := succeed(t).stdout
	assert.Equal(t, bare, succeed(t, "-h").stdout)
	assert.LessOrEqual(t, strings.Count(bare, "\n"), 32)
	for _, command := range []string{"", "decode", "encode", "roundtrip", "batch", "info", "plan", "devices", "serve", "demo", "bench", "version", "completion", "man"} {
		assert.Contains(t, bare, "\n  "+command)
		text := succeed(t, strings.Fields(command+" -h")...).stdout
		assert.LessOrEqual(t, strings.Count(text, "\n"), 40, command)
		for line := range strings.Lines(text) {
			assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), 80, line)
		}
	}
	assert.Contains(t, succeed(t, "--help").stdout, "Exit codes:")
	assert.Contains(t, succeed(t, "decode", "--help").stdout, "$TESSERA_MODEL")
}

func TestVersion(t *testing.T) {
	t.Parallel()
	want := succeed(t, "--version").stdout
	assert.Regexp(t, `^tessera \S+ \(\S+/\S+, go`, want)
	assert.Equal(t, want, succeed(t, "version").stdout)
	assert.Equal(t, want, succeed(t, "-V").stdout)
}
