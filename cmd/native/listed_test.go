package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"tessera/app/job"
)

// Commands that plan or measure without a file take the names that `tessera models` lists.
func TestNamesOfModels(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"plan", "bench"} {
		assert.Contains(t, strings.Join(strings.Fields(succeed(t, command, "--help").stdout), " "), "name from 'tessera models'")
	}
	for _, name := range []string{"flux", "SD3", "ltx2.3", "wan2.1-f32", "taew2_1"} {
		assert.Contains(t, tesseraEnv(t, noDevice, "plan", "-m", name, "--size=64x64").stdout, "of the reference's", name)
	}
}

// Each word of a request has a flag of that name, which accepts its texts.
func TestWordsAreFlags(t *testing.T) {
	t.Parallel()
	help := succeed(t, "decode", "--help-all").stdout
	for _, word := range job.Words() {
		assert.True(t, strings.Contains(help, "--"+word.Name+"="), "decode lacks --%s", word.Name)
		for _, text := range word.Of {
			r := tessera(t, "decode", "-m", "nowhere.safetensors", "nowhere.safetensors", "-o", "o.png", "--"+word.Name+"="+text)
			assert.Equal(t, job.ExitInput, r.code, "--%s=%s: %s", word.Name, text, r.stderr)
		}
	}
}
