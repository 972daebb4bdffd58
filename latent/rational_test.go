package latent

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestParseRational(t *testing.T) {
	for text, want := range map[string]Rational{
		"25": {25, 1}, "30000/1001": {30000, 1001}, "50/2": {25, 1}, "24000:1001": {24000, 1001},
		"23.976": {24000, 1001}, "29.97": {30000, 1001}, "12.5": {25, 2},
	} {
		got, err := ParseRational(text)
		assert.NoError(t, err, text)
		assert.Equal(t, want, got, text)
		back, err := ParseRational(want.String())
		assert.NoError(t, err, "%v printed and read", want)
		assert.Equal(t, want, back, "%v printed and read", want)
	}
	for _, text := range []string{"", "0/0", "-25", "25/0", "x", "0", "NaN", "1/2/3", "inf"} {
		got, err := ParseRational(text)
		assert.Error(t, err, "%q is %v", text, got)
	}
}
