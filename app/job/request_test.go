package job

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tiling"
	"tessera/vae"
)

// Requests' words are fields of Choices: each listed text is accepted, and others are
// refused.
func TestWords(t *testing.T) {
	texts, wrong := map[string]string{"tiling": "exact", "tile": "96x128", "overlap": "16", "as": "sdxl"}, map[string]error{"tile": tiling.ErrTile, "overlap": tiling.ErrOverlap}
	var c Choices
	for _, word := range Words() {
		require.NotEmpty(t, texts[word.Name], "%s: no text to try", word.Name)
		require.NoError(t, word.Set(&c, texts[word.Name]), word.Name)
		for _, text := range word.Of {
			var one Choices
			require.NoError(t, word.Set(&one, text))
			_, err := one.Options()
			assert.NoError(t, err, "%s=%s", word.Name, text)
		}
		if word.Of == nil {
			assert.ErrorIs(t, word.Set(&Choices{}, "nothing"), wrong[word.Name], word.Name)
		}
	}
	overlap := tiling.Square(16)
	assert.Equal(t, Choices{Tile: &tiling.Choice{Tile: tiling.Size{H: 96, W: 128}}, Overlap: &overlap, Tiling: vae.Exact, As: "sdxl"}, c)
}
