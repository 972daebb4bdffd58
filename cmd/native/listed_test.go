package main

import (
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
			assert.Contains(t, help, family, command)
		}
		assert.Contains(t, help, " or "+vae.Families()[len(vae.Families())-1], command)
	}
}

// What a request can say in a word has a flag of that name, which takes its texts.
func TestWordsAreFlags(t *testing.T) {
	t.Parallel()
	for _, word := range job.Words() {
		assert.Contains(t, succeed(t, "decode", "--help").stdout, "--"+word.Name+"=")
		for _, text := range word.Of {
			r := tessera(t, "decode", "-m", "nowhere.safetensors", "nowhere.safetensors", "-o", "o.png", "--"+word.Name+"="+text)
			assert.Equal(t, job.ExitInput, r.code, "--%s=%s: %s", word.Name, text, r.stderr)
		}
	}
}
