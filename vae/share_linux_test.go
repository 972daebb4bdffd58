package vae

import (
	"os"
	"testing"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/tests/testenv"
	"tessera/tiling"
)

// driver opens a device of the named driver alone. The loader reads C's environment.
func driver(t *testing.T, setenv func(name, value string, overwrite int32) int32, file string) *gpu.Device {
	for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
		require.Zero(t, setenv(name, file, 1))
	}
	dev, err := gpu.Open(gpu.Options{Adapter: -1})
	require.NoError(t, err)
	t.Cleanup(func() { dev.Close() })
	return dev
}

// Two drivers together give one's result, each with some of the tiles, also with weights
// streamed from the host.
func TestShareOfTwoDrivers(t *testing.T) {
	testenv.Long(t)
	lavapipe, swiftShader := testenv.TwoDrivers(t)
	libc, err := purego.Dlopen("libc.so.6", purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		t.Skipf("no libc to tell of drivers: %v", err)
	}
	var setenv func(name, value string, overwrite int32) int32
	purego.RegisterLibFunc(&setenv, libc, "setenv")
	var unsetenv func(name string) int32
	purego.RegisterLibFunc(&unsetenv, libc, "unsetenv")
	for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
		before, was := os.LookupEnv(name)
		t.Cleanup(func() {
			if was {
				setenv(name, before, 1)
			} else {
				unsetenv(name) // an empty value would hide all drivers from later tests
			}
		})
	}
	a, b := driver(t, setenv, lavapipe), driver(t, setenv, swiftShader)
	require.NotEqual(t, a.Info().Name, b.Info().Name)

	m, other := open(t, a, smallCheckpoint(t), F32), open(t, b, smallCheckpoint(t), F32)
	o := DecodeOptions{Options: Options{Tile: tiling.Choice{Tile: tiling.Square(16)}, Overlap: tiling.Square(8)}}
	z := noiseLatent(1, 12, 12)
	decode := func(z Latent) (p *DecodePlan, picture []float32) {
		p, err := m.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, o)
		require.NoError(t, err)
		for f, err := range p.Run(t.Context(), z, Watch{}) {
			require.NoError(t, err)
			picture = append(picture, f.Pixels...)
		}
		return p, picture
	}
	_, want := decode(z)
	clip := noiseLatent(3, 6, 6)
	_, wantClip := decode(clip)
	require.NoError(t, m.Share(other))
	p, got := decode(z)
	closeTo(t, got, want, 1e-9, "decoded")
	require.Len(t, p.Tiles.Tiles, 121)
	made := p.Helpers[0].Tiles
	t.Logf("%s made %d of %d tiles, %s the others", b.Info().Name, made, len(p.Tiles.Tiles), a.Info().Name)
	require.Positive(t, made)
	require.Less(t, made, len(p.Tiles.Tiles))

	o.Offload, o.Internals.Least = OffloadOn, true
	p, got = decode(clip)
	closeTo(t, got, wantClip, 1e-9, "with weights from the host")
	for _, of := range []*Plan{p.Plan, p.Helpers[0].Plan} {
		require.Positive(t, of.Streamed)
	}
	require.Positive(t, p.Helpers[0].Tiles)
	require.Less(t, p.Helpers[0].Tiles, len(p.Tiles.Tiles))
}
