package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/app/terminal"
)

// The path of a checkpoint is stored only if the checkpoint is dragged onto the program
// together with a latent.
func TestPathIsKeptOfDraggedLatents(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("its configuration is in a folder that no variable names")
	}
	needDevice(t)
	dir, config := t.TempDir(), t.TempDir()
	env := []string{"XDG_CONFIG_HOME=" + config, "AppData=" + config, "TESSERA_MODEL="}
	model, z := filepath.Join(dir, "m.safetensors"), filepath.Join(dir, "z.safetensors")
	for to, from := range map[string]string{model: tiny, z: latentFile(t, 16, 1, 2, 2)} {
		b, err := os.ReadFile(from)
		require.NoError(t, err)
		write(t, to, b)
	}
	run := func(env []string, args ...string) outcome {
		t.Helper()
		o := tesseraEnv(t, env, args...)
		require.Equal(t, 0, o.code, "%s%s", o.stdout, o.stderr)
		return o
	}
	run(env, "decode", "-m", model, z, "-o", filepath.Join(dir, "out.npy"))
	run(env, model)
	isEmpty(t, config)
	o := tesseraEnv(t, env, z)
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "no checkpoint is known")
	run(append(env, "TESSERA_MODEL="+model), z)
	isEmpty(t, config)

	o = run(env, z, model)
	assert.Contains(t, o.stderr, "decoding "+z+" with "+model)
	kept, err := os.ReadFile(filepath.Join(config, "tessera", "last-model.txt"))
	require.NoError(t, err)
	assert.Equal(t, model+"\n", string(kept))
	run(env, z)
	require.NoError(t, os.Rename(model, model+"-gone"))
	assert.Contains(t, tesseraEnv(t, env, z).stderr, "no checkpoint is known")

	o = tesseraEnv(t, env, z, z)
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "expected a latent, a checkpoint or one of each")
	assert.Contains(t, strings.Join(strings.Fields(succeed(t, "--help-all").stdout), " "), "Only this remembers a checkpoint's path, in tessera/last-model.txt")
}

// In its own window the program asks for a missing checkpoint.
func TestAskForCheckpoint(t *testing.T) {
	a := &app{Terminal: &terminal.Terminal{Stderr: &bytes.Buffer{}}}
	for line, want := range map[string]string{"m.pth\n": "m.pth", "\"C:\\my models\\m.pth\"\r\n": `C:\my models\m.pth`, " m.pth": "m.pth"} {
		got, err := a.ask(strings.NewReader(line))
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := a.ask(strings.NewReader("\n"))
	assert.Equal(t, job.ExitUsage, exitCode(t.Context(), err))
}

// TESSERA_MODEL is the default checkpoint.
func TestModelOfEnvironment(t *testing.T) {
	info := func(env string, args ...string) outcome {
		return tesseraEnv(t, []string{"TESSERA_MODEL=" + env}, append([]string{"decode", latentFile(t, 16, 1, 2, 2), "-o", "no/such/folder/out.npy"}, args...)...)
	}
	assert.Contains(t, info(tiny).stderr, "no/such/folder")
	assert.Contains(t, info("nowhere", "-m", tiny).stderr, "no/such/folder", "the flag comes first")
	assert.Contains(t, info("nowhere").stderr, "nowhere")
	o := info("")
	assert.Equal(t, job.ExitUsage, o.code)
	assert.Contains(t, o.stderr, "missing flags: --model=MODEL")
	for _, command := range []string{"decode", "encode", "roundtrip"} {
		assert.Contains(t, succeed(t, command, "--help").stdout, "($TESSERA_MODEL)", command)
	}
}
