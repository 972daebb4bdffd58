package terminal

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"":                    `""`,
		`C:\clips\ördek.mp4`:  `"C:\\clips\\ördek.mp4"`,
		"a\"b\xff\x80\u2028c": `"a\"b\udcff\udc80\u2028c"`,
		"\uFFFD":              `"` + "\uFFFD" + `"`,
	} {
		got, err := FileName(name).MarshalJSON()
		require.NoError(t, err)
		assert.Equal(t, want, string(got))
	}
}
