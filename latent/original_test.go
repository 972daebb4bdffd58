package latent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Decoding reads what encoding writes.
func TestOriginal(t *testing.T) {
	for name, want := range map[string]Original{
		"nothing": {},
		"a clip":  {Frames: 7, Height: 15, Width: 24, FPS: Rational{30000, 1001}, Aspect: Rational{64, 45}, Scale: ScaleNone},
		"images":  {Frames: 3, Height: 16, Width: 17, Scale: ScalePipeline, Images: true},
	} {
		l := Latent{Channels: 4, Frames: 3, Height: 2, Width: 3, Meta: want.Meta(KindLatent)}
		got, warnings, err := l.Original(8, 8, 4, 0, 0)
		require.NoError(t, err, name)
		assert.Empty(t, warnings, name)
		assert.Equal(t, want, got, name)
	}
}

// ComfyUI's mark applies if the metadata has no scale.
func TestComfyUI(t *testing.T) {
	l := Latent{Channels: 4, Frames: 1, Height: 2, Width: 3, ComfyUI: true}
	o, _, err := l.Original(8, 8, 4, 0, 0)
	require.NoError(t, err)
	assert.True(t, o.ComfyUI)
	l.Meta = map[string]string{MetaScale: ScaleNone}
	o, _, err = l.Original(8, 8, 4, 0, 0)
	require.NoError(t, err)
	assert.False(t, o.ComfyUI)
}

// Sizes from which the latent cannot have been padded are dropped.
func TestForeignSizes(t *testing.T) {
	for name, c := range map[string]struct {
		was  Original
		want Original
		says string
	}{
		"frames":       {Original{Frames: 90, Height: 16}, Original{Height: 16}, "metadata says 90 frames, the latent has 9: the metadata is ignored"},
		"few frames":   {Original{Frames: 5}, Original{}, "metadata says 5 frames, the latent has 9"},
		"size":         {Original{Frames: 9, Height: 16, Width: 25}, Original{Frames: 9}, "metadata says 25x16 pixels, the latent has 24x16"},
		"whole images": {Original{Frames: 4, Images: true}, Original{Images: true}, "metadata says 4 frames, the latent has 3"},
	} {
		l := Latent{Channels: 4, Frames: 3, Height: 2, Width: 3, Meta: c.was.Meta(KindLatent)}
		got, warnings, err := l.Original(8, 8, 4, 0, 0)
		require.NoError(t, err, name)
		require.Len(t, warnings, 1, name)
		assert.Contains(t, warnings[0], c.says, name)
		assert.Equal(t, c.want, got, name)
	}
}

func TestBadMetadata(t *testing.T) {
	for key, c := range map[string]struct{ value, says string }{
		MetaKind:   {KindMoments, "holds moments, expected a latent"},
		MetaScale:  {"bent", `metadata tessera.scale is "bent", expected pipeline or none`},
		MetaImages: {"maybe", `metadata tessera.images is "maybe", expected true`},
		MetaFrames: {"0", `metadata tessera.frames is "0", expected a positive number`},
		MetaWidth:  {"x", `metadata tessera.width is "x", expected a positive number`},
		MetaFPS:    {"fast", `metadata tessera.fps: frame rate "fast", expected a number or a fraction`},
	} {
		l := Latent{Channels: 4, Frames: 1, Height: 1, Width: 1, Meta: map[string]string{key: c.value}}
		_, _, err := l.Original(8, 8, 4, 0, 0)
		assert.ErrorContains(t, err, c.says)
	}
}

// The first latent frame of each cycle of five stands for one frame.
func TestOriginalOfCycles(t *testing.T) {
	for n, fits := range map[int]bool{21: false, 22: false, 23: true, 39: true, 40: false} {
		l := Latent{Channels: 4, Frames: 12, Height: 2, Width: 3, Meta: Original{Frames: n}.Meta(KindLatent)}
		o, warnings, err := l.Original(8, 8, 4, 5, 0)
		require.NoError(t, err)
		assert.Equal(t, fits, o.Frames == n, "%d frames: %v", n, warnings)
	}
}

// In an even number of latent frames each stands for four frames, in an odd number the
// first stands for one; a clip is padded to a multiple of eight frames, or one more.
func TestOriginalOfBatches(t *testing.T) {
	for latents, all := range map[int]int{1: 1, 2: 8, 3: 9, 4: 16, 5: 17} {
		for n, fits := range map[int]bool{all + 1: false, all: true, max(1, all-7): true, all - 8: false} {
			if n < 1 {
				continue
			}
			l := Latent{Channels: 4, Frames: latents, Height: 2, Width: 3, Meta: Original{Frames: n}.Meta(KindLatent)}
			o, warnings, err := l.Original(8, 8, 4, 0, 2)
			require.NoError(t, err)
			assert.Equal(t, fits, o.Frames == n, "%d frames of %d: %v", n, all, warnings)
		}
	}
}
