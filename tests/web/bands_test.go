package web

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"tessera/latent"
	"tessera/media"
	"tessera/tests/testenv"
	"tessera/vae"
)

// TestBandsInATab: frames too large for the browser's bindings are processed in bands
// of rows, with the result of one tile without bands.
func TestBandsInATab(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	const most = 640 << 10 // bytes, enough for all weights; a frame of 120x136 pixels is 1 MiB and more
	dir := copied(t)
	edit(t, filepath.Join(dir, "worker.js"), func(s string) string {
		return fmt.Sprintf("Object.defineProperty(GPUSupportedLimits.prototype, 'maxStorageBufferBindingSize', { get: () => %d });\n", most) + s
	})
	url, _ := hosted(t, dir, "")
	v := newVisitAt(t, url+"#")
	v.open("", "&tile=off&precision=f32")
	v.ready()
	require.Contains(t, v.text("device-rows"), "640 KiB")
	z := latent.Latent{Channels: 16, Frames: 2, Height: 15, Width: 17, Data: make([]float32, 16*2*15*17)}
	for i := range z.Data {
		z.Data[i] = float32(i*i%97)/48 - 1
	}
	path := filepath.Join(t.TempDir(), "large.npy")
	require.NoError(t, media.WriteLatent(path, z))
	v.pick("input-file", path)
	v.named("input-name", "large.npy")
	v.ready()
	require.Contains(t, v.text("plans"), "one tile")
	v.click("#run")
	v.ended("done", 8*time.Minute)
	v.sees(decoded(t, z, vae.Options{}))
}
