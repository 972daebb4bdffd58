package vae

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
	"tessera/wgsl"
)

// Frames made in pairs equal those made one by one: clips with and without an odd frame,
// in one slice, in slices of one latent frame and of several.
func TestWinogradIsExact(t *testing.T) {
	testenv.Long(t)
	dev := gputest.Open(t)
	for name, path := range map[string]string{"seedvr2": smallCheckpoint(t), "wan2.1": tiny(t, synthetic.WanConfig{Dim: 4})} {
		with := func(on bool) *Model {
			m, err := Open(dev, path, Settings{Precision: F32, Kernels: KernelSettings{Winograd: &on}})
			require.NoError(t, err)
			t.Cleanup(func() { m.Close() })
			return m
		}
		winograd, singles := with(true), with(false)
		for _, c := range []struct{ frames, chunk int }{{3, 0}, {4, 2}} { // latent frames
			t.Run(fmt.Sprintf("%s/%d frames by %d", name, c.frames, max(1, c.chunk)), func(t *testing.T) {
				o := Options{Chunk: c.chunk}
				z, clip := noiseLatent(c.frames, 3, 4), noiseClip(4*c.frames-3, 24, 32)
				z.Channels = winograd.Config.Latent
				z.Data = noise(z.Channels * z.Frames * z.Height * z.Width)
				a, err := winograd.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
				require.NoError(t, err)
				b, err := singles.PlanDecode(t.Context(), z.Frames, z.Height, z.Width, DecodeOptions{Options: o})
				require.NoError(t, err)
				require.Less(t, a.Cost.MACs, b.Cost.MACs)
				decode, encode := DecodeOptions{Options: o}, EncodeOptions{Options: o}
				closeTo(t, decodeAll(t, winograd, z, decode), decodeAll(t, singles, z, decode), 1e-9, "decoded in pairs and one by one")
				closeTo(t, encodeAll(t, winograd, clip, encode), encodeAll(t, singles, clip, encode), 1e-9, "encoded in pairs and one by one")
			})
		}
	}
}

// Pictures and single frames made four pixels of a row at a time equal those made one by
// one.
func TestWinogradRowsAreExact(t *testing.T) {
	testenv.Long(t)
	dev := gputest.Open(t)
	for name, path := range map[string]string{"seedvr2": smallCheckpoint(t), "wan2.1": tiny(t, synthetic.WanConfig{Dim: 4})} {
		t.Run(name, func(t *testing.T) {
			with := func(on bool) *Model {
				m, err := Open(dev, path, Settings{Precision: F32, Kernels: KernelSettings{Winograd: &on}})
				require.NoError(t, err)
				t.Cleanup(func() { m.Close() })
				return m
			}
			lines, singles := with(true), with(false)
			z, picture := noiseLatent(1, 16, 17), noiseClip(1, 128, 136)
			z.Channels = lines.Config.Latent
			z.Data = noise(z.Channels * 16 * 17)
			a, err := lines.PlanDecode(t.Context(), 1, 16, 17, DecodeOptions{})
			require.NoError(t, err)
			b, err := singles.PlanDecode(t.Context(), 1, 16, 17, DecodeOptions{})
			require.NoError(t, err)
			if len(wgsl.Kernels("conv3d_winograd_rows", wgsl.F32, dev.Info())) > 1 {
				require.Less(t, a.Cost.MACs, b.Cost.MACs)
			}
			closeTo(t, decodeAll(t, lines, z, DecodeOptions{}), decodeAll(t, singles, z, DecodeOptions{}), 1e-9, "decoded with four pixels together and one by one")
			closeTo(t, encodeAll(t, lines, picture, EncodeOptions{}), encodeAll(t, singles, picture, EncodeOptions{}), 1e-9, "encoded with four pixels together and one by one")
			z, clip := noiseLatent(2, 32, 33), noiseClip(5, 72, 136)
			z.Channels = lines.Config.Latent
			z.Data = noise(z.Channels * 2 * 32 * 33)
			closeTo(t, decodeAll(t, lines, z, DecodeOptions{}), decodeAll(t, singles, z, DecodeOptions{}), 1e-9, "a clip decoded so")
			closeTo(t, encodeAll(t, lines, clip, EncodeOptions{}), encodeAll(t, singles, clip, EncodeOptions{}), 1e-9, "a clip encoded so")
		})
	}
}

// Clips made in pairs equal the reference's in halves too.
func TestWinogradGoldens(t *testing.T) {
	dev := gputest.Open(t)
	on := true
	testWinograd(t, dev, Settings{Precision: F16, Kernels: KernelSettings{Winograd: &on}})
}

// Every kernel that the device can run computes what the reference does, in place of the
// default: TABLES=all requests it.
func TestVariantGoldens(t *testing.T) {
	if os.Getenv("TABLES") != "all" {
		t.Skip("TABLES=all tries every kernel")
	}
	dev := gputest.Open(t)
	for _, name := range wgsl.Kernels("conv3d_winograd", wgsl.F16, dev.Info())[1:] {
		t.Run("winograd "+name, func(t *testing.T) {
			testWinograd(t, dev, Settings{Precision: F16, Kernels: KernelSettings{Choices: wgsl.Choices{"conv3d": "plain", "conv3d_winograd": name}}})
		})
	}
	for _, p := range []Precision{F32, F16} {
		elem, err := p.Elem(dev.Info())
		require.NoError(t, err)
		for _, name := range wgsl.Kernels("conv3d", elem, dev.Info()) {
			choices := wgsl.Choices{}
			for _, operation := range []string{"conv3d", "conv3d_strided", "conv_up", "pointwise"} {
				if slices.Contains(wgsl.Kernels(operation, elem, dev.Info()), name) {
					choices[operation] = name
				}
			}
			for _, s := range suites() {
				if !strings.HasSuffix(s.name, "/small") {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/%s", name, p, s.name), func(t *testing.T) {
					m, err := Open(dev, s.path(t), Settings{Precision: p, Kernels: KernelSettings{Choices: choices}})
					require.NoError(t, err)
					t.Cleanup(func() { m.Close() })
					testGoldens(t, m, p, s.cases(t))
				})
			}
		}
	}
}

// testWinograd compares clips of SeedVR2, some of whose layers are made in pairs, with
// the reference's.
func testWinograd(t *testing.T, dev *gpu.Device, s Settings) {
	m, err := Open(dev, smallCheckpoint(t), s)
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	p, err := m.PlanDecode(t.Context(), 3, 2, 3, DecodeOptions{})
	require.NoError(t, err)
	paired := 0
	for program := range p.Programs() {
		if strings.HasPrefix(program.Label, "conv3d_winograd") {
			paired++
		}
	}
	require.NotZero(t, paired)
	testGoldens(t, m, s.Precision, slices.DeleteFunc(smallGoldens(t), func(g golden) bool {
		return g.name != "decode_L3" && g.name != "encode_T9_moments"
	}))
}
