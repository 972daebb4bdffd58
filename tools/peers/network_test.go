//go:build !js

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/format/safetensors"
	"tessera/gpu/gputest"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// A whole decoder's result equals the reference, in the order of the peers' results.
func TestNetwork(t *testing.T) {
	dev := gputest.Open(t)
	path := filepath.Join(t.TempDir(), checkpoint)
	require.NoError(t, synthetic.CreateKL(path, synthetic.KLConfig{Widths: []int{32, 64, 96, 96}, Quant: true, DType: safetensors.F32}))
	model, err := vae.Open(dev, path, networkSettings)
	require.NoError(t, err)
	c := decoders([]int{24})[0]
	c.W = 32
	n, err := newNetwork(model, c)
	require.NoError(t, err)
	defer n.close()
	require.Len(t, n.z.Data, 4*3*4)
	for i := range n.z.Data {
		n.z.Data[i] = float32(synthetic.Value("latent", uint64(i)))
	}
	require.NoError(t, n.once())

	goldens, _, err := synthetic.Read("../../tests/goldens/kl_small.safetensors")
	require.NoError(t, err)
	var want []float32
	for _, g := range goldens {
		if g.Name == "decode_4x1x3x4.out" {
			want = decode(g.Data)
		}
	}
	require.Len(t, want, c.outputs())
	require.Len(t, n.lay(), c.outputs())
	assert.LessOrEqual(t, nmse(n.lay(), want), most)
}

// Times of whole decoders are in seconds, and the report says why a peer has none.
func TestDecodersReport(t *testing.T) {
	cases := decoders([]int{512, 1024})
	p := Part{Where: natively, Results: []*Result{
		{Case: cases[0], Ours: Time{Name: us, Median: 2}, Peers: []Time{{Name: "a:decoder", Median: 20, NMSE: 1e-11}}},
		{Case: cases[1], Ours: Time{Name: us, Median: 8}, Peers: []Time{{Name: "a:decoder", Not: "out of memory"}}},
	}}
	for _, r := range p.Results {
		r.Bar = p.bar(r.Case)
		r.conclude()
	}
	var b strings.Builder
	p.markdown(&b)
	assert.Contains(t, b.String(), "## Natively, whole decoders\n")
	assert.Contains(t, b.String(), "| best peer | its s | Tessera, s |")
	assert.Contains(t, b.String(), "| decoder 4→3 on 1×512×512 | Stable Diffusion | a:decoder | 20.0 | 2.0 | **10.0×** | 8× |  | 1e-11 |  |\n")
	assert.Contains(t, b.String(), "| decoder 4→3 on 1×1024×1024 | Stable Diffusion | none | | 8.0 | | 8× |  | | |\n")
	assert.Contains(t, b.String(), "- a:decoder: out of memory\n")
}
