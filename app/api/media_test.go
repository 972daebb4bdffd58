package api

import (
	"bytes"
	"image"
	"image/png"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A picture's warnings come with its latent, without the server's paths.
func TestRemotePictureIsWarnedOf(t *testing.T) {
	_, url := start(t, device(t), Options{Models: []Model{{"seedvr2", seedvr2, settingsF32}}})
	for alpha, want := range map[uint8][]string{
		255: nil,
		100: {"the picture: transparency is dropped: colours are the stored ones, blended with nothing"},
	} {
		img := image.NewNRGBA(image.Rect(0, 0, 16, 16))
		for i := range img.Pix {
			img.Pix[i] = alpha
		}
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		r, text := ask(t, "POST", url+"/v1/encode", "", b.Bytes())
		require.Equal(t, http.StatusOK, r.StatusCode, string(text))
		assert.Equal(t, want, r.Header.Values("Tessera-Warning"))
	}
}
