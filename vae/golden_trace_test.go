package vae

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/engine/runner"
	"tessera/gpu/gputest"
	"tessera/tiling"
	"tessera/wgsl"
)

// traced is a module's output in one slice: samples at flat indices.
type traced struct {
	Shape []int
	Idx   []int
	Val   []float64
}

// firstLayer names the first module whose output exceeds the tolerance, if there is a
// trace of the case.
func firstLayer(t *testing.T, m *Model, p Precision, g golden) string {
	var cases map[string]map[string][]traced
	data, err := os.ReadFile(goldens + g.traces)
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil {
		return fmt.Sprintf(" (no trace: %v)", err)
	}
	want, ok := cases[g.name]
	if !ok || g.tile != (tiling.Options{}) {
		return " (there is no trace of this case)"
	}
	compared := 0
	for k, err := range g.trace(t, m) {
		require.NoError(t, err)
		w := want[k.Name]
		if k.Slice >= len(w) {
			continue
		}
		at := w[k.Slice]
		frames := 1 // shapes of pictures are [1, C, H, W]
		if len(at.Shape) == 5 {
			frames = at.Shape[2]
		}
		// The frames that a TAEHV's decoder drops at the start, its reference drops at
		// the end.
		dropped := frames - k.T
		if dropped != 0 && !(m.family.groups && dropped > 0) { // the reference runs it on the whole clip
			continue
		}
		scale := float64(1)
		if r := m.residual(); r != nil && klScaled(k.Name) {
			scale = 1 / float64(r.by)
		}
		var got, val []float64
		frame := k.H * k.W
		for i, flat := range at.Idx {
			pixel := flat%(frames*frame) - dropped*frame
			if pixel < 0 {
				continue
			}
			got = append(got, scale*float64(k.Values[pixel*wgsl.Pad4(k.C)+flat/(frames*frame)]))
			val = append(val, at.Val[i])
		}
		compared++
		if e := nmse(got, val); !(e <= bounds[p]) {
			return fmt.Sprintf("; first layer outside: %s in slice %d, NMSE %.3g", k.Name, k.Slice, e)
		}
	}
	return fmt.Sprintf("; all %d outputs of layers that there is a trace of are inside", compared)
}

// klScaled reports whether a module of AutoencoderKL makes sums of residual blocks, which
// are smaller in halves.
func klScaled(module string) bool {
	return !strings.Contains(module, "quant_conv") && !strings.HasSuffix(module, ".conv_out")
}

// trace runs an untiled case and yields every named module's output.
func (g golden) trace(t *testing.T, m *Model) iter.Seq2[runner.Traced, error] {
	ctx := context.Background()
	x, o := g.input(), Options{}
	withoutStatistics(m)
	if m.family.groups { // the reference runs the whole clip
		o.Chunk = g.shape[1]
	}
	if g.half() == "encoder" {
		clip := floats{g.shape[1], g.shape[2], g.shape[3], x}
		p, err := m.PlanEncode(t.Context(), clip.t, clip.h, clip.w, EncodeOptions{Options: o, Moments: !m.family.means})
		require.NoError(t, err)
		require.NoError(t, m.load(ctx, p.Plan, nil))
		return runner.Trace(ctx, p.Plan, m.store, newPixels(clip, m))
	}
	p, err := m.PlanDecode(t.Context(), g.shape[1], g.shape[2], g.shape[3], DecodeOptions{Options: o})
	require.NoError(t, err)
	require.NoError(t, m.load(ctx, p.Plan, nil))
	z := Latent{Channels: g.shape[0], Frames: g.shape[1], Height: g.shape[2], Width: g.shape[3], Data: x}
	return runner.Trace(ctx, p.Plan, m.store, &cells{z, &m.Config, true})
}

// A wrong layer is named, in either direction and by every family's traces: the
// comparison with the trace works.
func TestFirstWrongLayerIsNamed(t *testing.T) {
	dev := gputest.Open(t)
	wrongs := map[string][]struct{ of, tensor, layer string }{ // a case, the tensor that becomes zeros, the layer that is named
		"seedvr2/full": {{"decode_16x3x4x6", "decoder.up_blocks.0.resnets.1.conv1.bias", "decoder.up_blocks.0"}, {"encode_3x1x64x64", "encoder.down_blocks.2.resnets.0.conv2.bias", "encoder.down_blocks.2"}},
		"wan2.1/full":  {{"decode_16x1x8x8", "decoder.upsamples.4.residual.6.bias", "decoder.upsamples.4"}, {"encode_3x9x32x48", "encoder.downsamples.6.residual.2.bias", "encoder.downsamples.6"}},
		"wan2.2/full":  {{"decode_48x3x2x3", "decoder.upsamples.1.upsamples.0.residual.2.bias", "decoder.upsamples.1"}, {"encode_3x1x64x64", "encoder.downsamples.2.downsamples.1.residual.6.bias", "encoder.downsamples.2"}},
		"qwen2.1/full": {{"decode_64x1x2x3", "decoder.upsamples.2.upsamples.1.residual.2.bias", "decoder.upsamples.2"}, {"encode_4x1x32x48", "encoder.downsamples.1.downsamples.0.residual.6.bias", "encoder.downsamples.1"}},
		"kl/full":      {{"decode_4x1x3x4", "decoder.up.2.block.1.conv1.bias", "decoder.up.2.block.1"}, {"encode_3x1x24x32", "encoder.mid.attn_1.proj_out.bias", "encoder.mid.attn_1"}},
		"kl16/full":    {{"decode_16x1x3x4", "decoder.up.1.block.2.conv2.bias", "decoder.up.1.block.2"}, {"encode_3x1x24x32", "encoder.down.2.block.0.nin_shortcut.bias", "encoder.down.2.block.0"}},
		"taesd/full":   {{"decode_4x1x3x4", "decoder.8.conv.0.bias", "decoder.8"}, {"encode_3x1x24x32", "encoder.5.conv.2.bias", "encoder.5"}},
		"taef2/full":   {{"decode_32x1x3x4", "decoder.14.conv.4.bias", "decoder.14"}, {"encode_3x1x24x32", "encoder.11.pool.1.bias", "encoder.11"}},
		"taew21/full":  {{"decode_16x3x2x3", "decoder.10.conv.0.bias", "decoder.10"}, {"encode_3x9x32x48", "encoder.6.conv.4.bias", "encoder.6"}},
	}
	traces, err := filepath.Glob(goldens + "*.trace.json")
	require.NoError(t, err)
	require.Len(t, wrongs, len(traces), "models with a trace")
	for _, s := range suites() {
		all, ok := wrongs[s.name]
		if !ok {
			continue
		}
		delete(wrongs, s.name)
		t.Run(s.name, func(t *testing.T) {
			path := s.path(t)
			for _, wrong := range all {
				t.Run(wrong.tensor, func(t *testing.T) {
					m, cases := open(t, dev, path, F32), s.cases(t)
					g := cases[slices.IndexFunc(cases, func(g golden) bool { return g.name == wrong.of })]
					inside := firstLayer(t, m, F32, g)
					t.Log(inside)
					require.Contains(t, inside, " are inside")
					net, zeroed := m.decoder.net, 0
					if g.half() == "encoder" {
						net = m.encoder.net
					}
					for _, b := range net.Weights.Buffers() {
						if b.Label == wrong.tensor {
							require.NoError(t, dev.Write(b.All(), make([]byte, b.Size)))
							zeroed++
						}
					}
					require.Equal(t, 1, zeroed, "buffers of %s", wrong.tensor)
					require.Contains(t, firstLayer(t, m, F32, g), "first layer outside: "+wrong.layer+" in slice 0,", "%s was made wrong", wrong.tensor)
					m.Unload()
				})
			}
		})
	}
	require.Empty(t, wrongs, "no such models")
}
