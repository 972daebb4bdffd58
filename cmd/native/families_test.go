package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
