package flags

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/latent"
	"tessera/tiling"
	"tessera/vae"
)

func TestBytesFlag(t *testing.T) {
	for text, want := range map[string]int64{
		"6GiB": 6 << 30, "6G": 6 << 30, "6gb": 6e9, "1.5GiB": 3 << 29, "512MiB": 512 << 20, "512m": 512 << 20, "64 KiB": 64 << 10, "7000000000": 7e9, "8b": 8, "2TiB": 2 << 40,
	} {
		var f Bytes
		err := f.UnmarshalText([]byte(text))
		require.NoError(t, err, text)
		assert.Equal(t, want, int64(f), text)
	}
	for _, text := range []string{"", "GiB", "-1GiB", "0", "6Q", "6GiBs", "6 GiB more", "NaN", "Inf", "1e30", "0x10", "BGi6", "12"} {
		var f Bytes
		err := f.UnmarshalText([]byte(text))
		assert.Error(t, err, text)
	}
}

// Flags that are not given leave their choice empty, for app/job to resolve.
func TestChoices(t *testing.T) {
	tile, overlap := tiling.Choice{Tile: tiling.Square(384)}, tiling.Square(32)
	for name, c := range map[string]struct {
		flags Tiles
		want  job.Choices
	}{
		"nothing":   {Tiles{Tiling: "default"}, job.Choices{}},
		"diffusers": {Tiles{Tiling: "diffusers"}, job.Choices{Tiling: vae.Diffusers}},
		"all": {
			Tiles{Tiling: "feather", Tile: (*Tile)(&tile), Overlap: (*Overlap)(&overlap), Memory: 6 << 30, Host: 5 << 30, Format: "i8", Chunk: 3},
			job.Choices{Tiling: vae.Feather, Tile: &tile, Overlap: &overlap, Budget: 6 << 30, Host: 5 << 30, MemoryFormat: vae.MemoryI8, Chunk: 3},
		},
	} {
		require.Equal(t, c.want, c.flags.Choices(), name)
	}
	require.Empty(t, Scaling{"default"}.Choice())
	require.Equal(t, latent.ScaleNone, Scaling{"none"}.Choice())
}
