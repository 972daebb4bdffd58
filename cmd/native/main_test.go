package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
	"tessera/app/report"
	"tessera/format/safetensors"
	"tessera/tests/synthetic"
	"tessera/tests/testenv"
)

// tiny is the trained model that comes with the program.
const tiny = "../../assets/tiny-seedvr2.safetensors"

// built holds the program and checkpoints, made once for all tests.
var built struct {
	sync.Mutex
	dir, program string
	paths        map[string]string
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "tessera-cli-test-*")
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "AppData"} { // folders of the last checkpoint's path
		os.Setenv(name, filepath.Join(dir, "config"))
	}
	os.Unsetenv("TESSERA_MODEL")
	os.Setenv("TESSERA_NO_TUNE", "1") // commands are compared bit by bit, and trials on a busy machine choose by chance
	built.dir, built.program, built.paths = dir, filepath.Join(dir, "tessera"), map[string]string{}
	code := 1
	if given := os.Getenv("TESSERA_PROGRAM"); given != "" { // without Go, as under Wine
		built.program = given
		code = m.Run()
	} else if out, err := goBuild(built.program); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

func goBuild(program string) ([]byte, error) {
	build := exec.Command("go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return build.CombinedOutput()
}

// made returns a file that is made at its first use.
func made(t testing.TB, name string, create func(path string) error) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if p := built.paths[name]; p != "" {
		return p
	}
	p := filepath.Join(built.dir, name)
	require.NoError(t, create(p))
	built.paths[name] = p
	return p
}

func checkpoint(t testing.TB, name string, c synthetic.SeedVR2Config) string {
	return made(t, name, func(path string) error { return synthetic.CreateSeedVR2(path, c) })
}

func wan(t testing.TB, name string, c synthetic.WanConfig) string {
	return made(t, name, func(path string) error { return synthetic.CreateWan(path, c) })
}

// outcome is the result of a run of the program.
type outcome struct {
	code           int
	stdout, stderr string
}

// tessera runs the program as a user would.
func tessera(t testing.TB, args ...string) outcome {
	t.Helper()
	return tesseraEnv(t, nil, args...)
}

func tesseraEnv(t testing.TB, env []string, args ...string) outcome {
	t.Helper()
	cmd := exec.Command(built.program, args...)
	cmd.Env = append(os.Environ(), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	_, ok := errors.AsType[*exec.ExitError](err)
	require.True(t, err == nil || ok, "%v", err)
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// succeed runs the program and fails the test if that fails.
func succeed(t testing.TB, args ...string) outcome {
	t.Helper()
	o := tessera(t, args...)
	require.Equal(t, 0, o.code, "tessera %s: exit code %d\n%s%s", strings.Join(args, " "), o.code, o.stdout, o.stderr)
	return o
}

// succeedJSON is succeed with --json, whose result it reads.
func succeedJSON(t testing.TB, args ...string) (r report.Result) {
	t.Helper()
	o := succeed(t, append(args, "--json")...)
	require.NoError(t, json.Unmarshal([]byte(o.stdout), &r), o.stdout)
	return r
}

// needDevice skips a test without a device, or fails it, as package testenv describes.
func needDevice(t testing.TB) {
	t.Helper()
	testenv.Device(t)
	o := tessera(t, "devices")
	switch {
	case o.code == job.ExitDevice && !testenv.Required():
		t.Skipf("no device: %s", o.stderr)
	case o.code != 0:
		require.Fail(t, "no device", "exit code %d\n%s", o.code, o.stderr)
	}
}

// demoClip writes a folder with the first frames of the demo clip, cropped.
func demoClip(t testing.TB, frames, height, width int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range frames {
		name := fmt.Sprintf("frame_%04d.png", i)
		src, err := os.ReadFile("../../assets/demo/" + name)
		require.NoError(t, err)
		img, err := png.Decode(bytes.NewReader(src))
		require.NoError(t, err)
		crop := image.NewRGBA(image.Rect(0, 0, width, height))
		draw.Draw(crop, crop.Rect, img, image.Pt(60, 100), draw.Src)
		var out bytes.Buffer
		require.NoError(t, png.Encode(&out, crop))
		write(t, filepath.Join(dir, name), out.Bytes())
	}
	return dir
}

func write(t testing.TB, path string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o666))
}

// tensor is one tensor of a .safetensors file, in float32.
type tensor struct {
	name  string
	shape []int
	data  []float32
}

// readTensor reads a file's only tensor, and its metadata.
func readTensor(t testing.TB, path string) (tensor, map[string]string) {
	t.Helper()
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	defer f.Close()
	require.Len(t, f.Names(), 1, path)
	x, _ := f.Tensor(f.Names()[0])
	out := tensor{x.Name, slices.Clone(x.Shape), make([]float32, x.Elements())}
	require.NoError(t, x.ReadF32(out.data, 0))
	return out, f.Metadata()
}

// writeTensors writes a .safetensors file of float32.
func writeTensors(t testing.TB, path string, meta map[string]string, tensors ...tensor) string {
	t.Helper()
	var specs []safetensors.Spec
	for _, x := range tensors {
		specs = append(specs, safetensors.Spec{Name: x.name, DType: safetensors.F32, Shape: x.shape})
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	w, err := safetensors.NewWriter(f, specs, meta)
	require.NoError(t, err)
	for _, x := range tensors {
		require.NoError(t, w.Begin(x.name))
		require.NoError(t, w.WriteF32(x.data))
	}
	require.NoError(t, w.Close())
	return path
}

// latentFile writes a latent of synthetic values for the tiny model.
func latentFile(t testing.TB, shape ...int) string {
	t.Helper()
	n := 1
	for _, d := range shape {
		n *= d
	}
	wide, data := make([]float64, n), make([]float32, n)
	synthetic.Fill("latent", wide)
	for i, v := range wide {
		data[i] = float32(v)
	}
	return writeTensors(t, filepath.Join(t.TempDir(), "latent.safetensors"), nil, tensor{"latent", shape, data})
}

// isEmpty checks that a folder is empty, including hidden files.
func isEmpty(t testing.TB, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		assert.Fail(t, "left behind", e.Name())
	}
}
