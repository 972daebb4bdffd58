package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Without arguments, with -h and with --help, help is one screen whose texts are whole;
// --help-all has everything.
func TestHelpIsOneScreen(t *testing.T) {
	t.Parallel()
	bare := succeed(t).stdout
	assert.Equal(t, bare, succeed(t, "-h").stdout)
	assert.LessOrEqual(t, strings.Count(bare, "\n"), screenLines)
	for _, command := range []string{"", "decode", "encode", "roundtrip", "batch", "info", "plan", "devices", "serve", "demo", "bench", "version", "completion", "man"} {
		assert.Contains(t, bare, "\n  "+command)
		text := succeed(t, strings.Fields(command+" -h")...).stdout
		assert.Equal(t, text, succeed(t, strings.Fields(command+" --help")...).stdout)
		assert.LessOrEqual(t, strings.Count(text, "\n"), screenLines, command)
		assert.NotContains(t, text, "…")
		for line := range strings.Lines(text) {
			assert.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), screen, line)
		}
	}
	assert.Contains(t, succeed(t, "--help-all").stdout, "Exit codes:")
	assert.Contains(t, succeed(t, "decode", "--help").stdout, "$TESSERA_MODEL")
	assert.Equal(t, succeed(t, "decode", "-h").stdout, succeed(t, "help", "decode").stdout)
}

// A screen of help has the everyday flags, with texts of at most two lines, and the names
// of all others. The whole help has every flag below a heading.
func TestEverydayFlags(t *testing.T) {
	t.Parallel()
	everyday := regexp.MustCompile(`(?m)^ +(?:-., )?--(?:\[no-\])?([a-z-]+)[= \n]`)
	for command, want := range map[string]string{
		"decode": "model output scale crf precision tile memory progress",
		"encode": "model output scale precision tile memory progress",
		"batch":  "model output manifest resume scale crf precision tile memory progress",
	} {
		text := succeed(t, command, "--help").stdout
		all := succeed(t, command, "--help-all").stdout
		shown, others, found := strings.Cut(text, "\nOther flags:\n")
		require.True(t, found, command)
		var names []string
		for _, m := range everyday.FindAllStringSubmatch(shown, -1) {
			names = append(names, m[1])
		}
		assert.Equal(t, strings.Fields(want), names, command)
		assert.NotRegexp(t, `(?m)(\n {28}\S.*){2}`, shown, "a text of three lines")
		assert.Contains(t, others, "`tessera "+command+" --help-all` shows all flags.")
		heading := ""
		for line := range strings.Lines(all) {
			if title, ok := strings.CutSuffix(strings.TrimSuffix(line, "\n"), ":"); ok && !strings.HasPrefix(line, " ") {
				heading = title
			}
			if m := everyday.FindStringSubmatch(line); m != nil {
				assert.Contains(t, []string{"Input", "Output and video", "Latents", "Tiles and memory", "Device", "Every command"}, heading, line)
				assert.True(t, slices.Contains(names, m[1]) || strings.Contains(others, "--"+m[1]), "%s: --%s", command, m[1])
			}
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	want := succeed(t, "--version").stdout
	assert.Regexp(t, `^tessera \S+ \(\S+/\S+, go`, want)
	assert.Equal(t, want, succeed(t, "version").stdout)
	assert.Equal(t, want, succeed(t, "-V").stdout)
}
