package main

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/tests/synthetic"
	"tessera/vae"
)

// A file with a decoder alone decodes like the whole one, and one with an encoder alone
// encodes; the other direction is refused in one sentence, before anything is read.
func TestHalfCheckpoints(t *testing.T) {
	t.Parallel()
	needDevice(t)
	all, meta, err := synthetic.Read(tiny)
	require.NoError(t, err)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	encoder, decoder := path("encoder.safetensors"), path("decoder.safetensors")
	for _, file := range []string{encoder, decoder} {
		var own []synthetic.Raw
		for _, r := range all {
			if network, _, _ := strings.Cut(r.Name, "."); strings.HasPrefix(filepath.Base(file), network) {
				own = append(own, r)
			}
		}
		require.NoError(t, synthetic.Create(file, own, meta))
	}
	z, clip := latentFile(t, 16, 2, 2, 3), demoClip(t, 1, 16, 24)
	for _, c := range []struct{ op, half, input, out string }{{"decode", decoder, z, "v.npy"}, {"encode", encoder, clip, "z.npy"}} {
		succeed(t, c.op, "-m", tiny, c.input, "-o", path("whole-"+c.out))
		succeed(t, c.op, "-m", c.half, c.input, "-o", path(c.out))
		assert.Equal(t, readNPY(t, path("whole-"+c.out)), readNPY(t, path(c.out)), c.op)
		succeed(t, "plan", "-m", c.half, "--op", c.op, "--size=64x64")
	}
	assert.Contains(t, succeed(t, "info", decoder).stdout, "encoder      none: the file decodes only")
	o := succeed(t, "info", encoder)
	assert.Contains(t, o.stdout, "decoder      none: the file encodes only")
	assert.NotContains(t, o.stdout, "Decoding")
	noEncoder := "decoder.safetensors has no encoder and cannot encode: use a checkpoint that has one"
	noDecoder := "encoder.safetensors has no decoder and cannot decode: use a checkpoint that has one"
	refuse(t, []refusal{
		{name: "encode", args: "encode -m " + decoder + " none.mp4 -o OUT.npy", code: job.ExitInput, want: noEncoder},
		{name: "decode", args: "decode -m " + encoder + " none.npy -o OUT.npy", code: job.ExitInput, want: noDecoder},
		{name: "roundtrip", args: "roundtrip -m " + encoder + " none.mp4 -o OUT.npy", code: job.ExitInput, want: noDecoder},
		{name: "demo", args: "demo -m " + decoder + " -o OUT", code: job.ExitInput, want: noEncoder},
		{name: "plan", args: "plan -m " + encoder + " --size=64x64", code: job.ExitInput, want: "has no decoder and cannot decode"},
	})

	address, _ := served(t, "-m", decoder, "-m", encoder)
	var list []struct {
		Config vae.Config `json:"config"`
	}
	r, err := http.Get(address + "/v1/models")
	require.NoError(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &list), string(text))
	require.Len(t, list, 2, string(text))
	assert.Equal(t, []string{"encoder", "decoder"}, []string{list[0].Config.Lacks, list[1].Config.Lacks})
	assert.Contains(t, string(text), `"widths":[],`, "a list for programs that read one")
	query := asked([]int{1, 16, 1, 2, 3}, "output_type=pt&model=encoder")
	refused, err := http.Post(address+"/v1/decode"+query, "tensor/binary", strings.NewReader(string(float32s(make([]float32, 16*6)))))
	require.NoError(t, err)
	defer refused.Body.Close()
	assert.Equal(t, http.StatusBadRequest, refused.StatusCode)
	text, _ = io.ReadAll(refused.Body)
	assert.Contains(t, string(text), "has no decoder and cannot decode")
}
