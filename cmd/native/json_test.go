package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

var (
	snakeCase = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
	// dataKeys are objects whose keys are data: a file's metadata, and tensors by type.
	dataKeys = []string{"metadata", "dtypes"}
)

// The keys of every command's --json, and of errors, are in snake_case.
func TestKeysOfJSON(t *testing.T) {
	t.Parallel()
	needDevice(t)
	dir, clip := t.TempDir(), demoClip(t, 2, 16, 24)
	latent, out := filepath.Join(dir, "z.safetensors"), filepath.Join(dir, "out.npy")
	succeed(t, "encode", "-m", tiny, clip, "-o", latent)
	narrow := wan(t, "narrow_layered.safetensors", synthetic.WanConfig{Dim: 4, Latent: 4, Channels: 4})
	cases := map[string][][]string{
		"":          {{"--version"}, {"--unknown"}},
		"decode":    {{"-m", tiny, latent, "-o", out}, {"-m", wan21(t), latentFile(t, 16, 1, 5, 4), "-o", out, "--tile=24"}, {"-m", "nowhere", latent, "-o", out}},
		"encode":    {{"-m", tiny, clip, "-o", out}},
		"roundtrip": {{"-m", tiny, clip, "-o", out, "--fps=25"}},
		"batch":     {{"-m", tiny, latent, "-o", filepath.Join(dir, "{name}.png")}, {"-m", tiny, "nowhere.npz", "-o", out}},
		"info":      {{tiny}, {wan21(t)}, {latent}, {clip}, {"nowhere"}},
		"plan":      {{"--model=seedvr2", "--size=64x48"}, {"--model=wan2.1", "--size=64x48", "--tile=24"}, {"-m", tiny, "--size=64x48"}, {"--model=nowhere"}},
		"devices":   {{}, {"--dawn=/none.so"}},
		"bench":     {{"ops", "--seconds=1"}, {"--seconds=0"}},
		"demo":      {{"-m", narrow, "-o", filepath.Join(dir, "demo")}},
		"models":    {{}},
		"pull":      {{"nothing"}},
		"serve":     nil, // runs until it is ended

		"completion": {{"bash"}},
		"man":        {{}},
		"version":    {{}},
	}
	for _, command := range commands() {
		assert.Contains(t, cases, command, "a command without a case here")
	}
	for command, all := range cases {
		for _, args := range all {
			args = append(strings.Fields(command), args...)
			t.Run(strings.Join(args, " "), func(t *testing.T) {
				if command == "demo" || strings.HasPrefix(strings.Join(args, " "), "bench ops") {
					testenv.Long(t)
				}
				for line := range strings.SplitSeq(strings.TrimSpace(tessera(t, append(args, "--json")...).stdout), "\n{") {
					checkKeys(t, "{"+strings.TrimPrefix(line, "{"))
				}
			})
		}
	}
	t.Run("serve", func(t *testing.T) {
		cmd := exec.Command(built.program, "serve", "--json", "--allow-no-adapter", "--addr", "127.0.0.1:0", "--page", dir)
		write(t, filepath.Join(dir, "index.html"), []byte("the page"))
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer cmd.Wait()
		defer cmd.Process.Kill()
		var told json.RawMessage
		require.NoError(t, json.NewDecoder(stdout).Decode(&told))
		checkKeys(t, string(told))
	})
}

// commands returns the names of all commands.
func commands() (names []string) {
	for f := range reflect.TypeFor[cli]().Fields() {
		if _, ok := f.Tag.Lookup("cmd"); ok {
			names = append(names, strings.ToLower(f.Name))
		}
	}
	return names
}

func checkKeys(t *testing.T, text string) {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	require.NotEmpty(t, v)
	eachKey(v, func(key string) { assert.Regexp(t, snakeCase, key, "in %s", text) })
}

// eachKey visits the keys of objects at any depth, except those that are data.
func eachKey(v any, visit func(key string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			visit(key)
			if !slices.Contains(dataKeys, key) {
				eachKey(inner, visit)
			}
		}
	case []any:
		for _, inner := range v {
			eachKey(inner, visit)
		}
	}
}
