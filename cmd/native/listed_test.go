package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"tessera/app/job"
	"tessera/vae"
)

// The commands that take a published model by its family say which there are.
func TestHelpListsFamilies(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"plan", "bench"} {
		help := succeed(t, command, "--help").stdout
		for _, family := range vae.Families() {
			assert.True(t, strings.Contains(help, family), "%s --help lacks %s", command, family)
		}
	}
}

// What a request can say in a word has a flag of that name, which takes its texts.
func TestWordsAreFlags(t *testing.T) {
	t.Parallel()
	help := succeed(t, "decode", "--help").stdout
	for _, word := range job.Words() {
		assert.True(t, strings.Contains(help, "--"+word.Name+"="), "decode lacks --%s", word.Name)
		for _, text := range word.Of {
			r := tessera(t, "decode", "-m", "nowhere.safetensors", "nowhere.safetensors", "-o", "o.png", "--"+word.Name+"="+text)
			assert.Equal(t, job.ExitInput, r.code, "--%s=%s: %s", word.Name, text, r.stderr)
		}
	}
}
