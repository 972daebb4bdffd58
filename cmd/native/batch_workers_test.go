package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/batch"
	"tessera/app/job"
	"tessera/app/machine"
	"tessera/app/terminal"
	"tessera/cmd/native/flags"
	"tessera/gpu"
	"tessera/tests/testenv"
)

// With at least as many clips as adapters, each clip is computed on one adapter, to the
// bytes of a batch on one; with fewer, adapters share the tiles of each clip. Records are
// those of one adapter. A device that is named twice is two adapters.
func TestBatchSideBySide(t *testing.T) {
	t.Parallel()
	needDevice(t)
	names := []string{"a", "b", "c", "d", "e"}
	in, one, two := manyLatents(t, names...), t.TempDir(), t.TempDir()
	args := func(out string, more ...string) []string {
		return append([]string{"batch", "-m", tiny, filepath.Join(in, "*.safetensors"), "-o", filepath.Join(out, "{name}.npy"), "--op=decode", "--tile=16", "--overlap=8"}, more...)
	}
	succeed(t, args(one)...)
	o := succeed(t, args(two, "--adapter=0,0")...)
	assert.Contains(t, o.stderr, "clips run side by side on 2 adapters\n")
	assert.Contains(t, o.stderr, "5 clips: 5 done\n")
	all := outcomes(t, o.stdout)
	require.Len(t, all, 5)
	made := relative(t, two)
	for name, is := range relative(t, one) {
		assert.True(t, strings.HasSuffix(name, ".done.json") || made[name] == is, "%s differs", name)
	}
	for _, name := range names {
		assert.Empty(t, all[name].Result.Decode.Shares, name)
		assert.FileExists(t, filepath.Join(two, name+".npy.done.json"))
	}
	all = outcomes(t, succeed(t, args(two, "--adapter=0,0", "--resume")...).stdout)
	require.Len(t, all, 5)
	for name, o := range all {
		assert.Equal(t, batch.Skipped, o.Status, name)
	}

	shared := args(t.TempDir(), "--adapter=0,0,0")
	shared[3] = filepath.Join(in, "[ab].safetensors")
	few := succeed(t, shared...)
	require.Len(t, outcomes(t, few.stdout), 2)
	for _, o := range outcomes(t, few.stdout) {
		assert.Len(t, o.Result.Decode.Shares, 2)
	}
	assert.NotContains(t, few.stderr, "side by side")

	o = tessera(t, args(t.TempDir(), "--adapter=0,99")...)
	assert.Equal(t, job.ExitDevice, o.code)
	assert.Equal(t, 1, strings.Count(o.stdout, "\n"), o.stdout)
	assert.Contains(t, o.stderr, "adapter 99")
}

// The clips of a stream run side by side, too, and --adapter=all takes every adapter: two
// drivers, whose results are those of each alone.
func TestBatchOnAllAdapters(t *testing.T) {
	testenv.Long(t)
	t.Parallel()
	needDevice(t)
	lavapipe, swiftShader := testenv.TwoDrivers(t)
	alone := map[string]string{} // outputs by the adapter's name
	names := []string{"a", "b", "c", "d", "e", "f"}
	in, out := manyLatents(t, names...), t.TempDir()
	for _, file := range []string{lavapipe, swiftShader} {
		dir := t.TempDir()
		o := tesseraEnv(t, testenv.DriverVariables(file), "batch", "-m", tiny, filepath.Join(in, "*.safetensors"), "-o", filepath.Join(dir, "{name}.npy"), "--op=decode", "--precision=f32")
		require.Equal(t, job.ExitDone, o.code, o.stderr)
		alone[outcomes(t, o.stdout)["a"].Result.Adapter.Name] = dir
	}
	require.Len(t, alone, 2)
	cmd := exec.Command(built.program, "batch", "-m", tiny, "--manifest=-", "-o", filepath.Join(out, "{name}.npy"), "--op=decode", "--precision=f32", "--adapter=all")
	cmd.Env = append(os.Environ(), testenv.DriverVariables(lavapipe, swiftShader)...)
	var lines strings.Builder
	for _, name := range names {
		fmt.Fprintf(&lines, `{"input": %q}`+"\n", filepath.Join(in, name+".safetensors"))
	}
	cmd.Stdin = strings.NewReader(lines.String())
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Run(), "%s", &stderr)
	assert.Contains(t, stderr.String(), "clips run side by side on 2 adapters\n")
	on := map[string]int{}
	for name, o := range outcomes(t, stdout.String()) {
		require.Equal(t, batch.Done, o.Status, o.Error)
		adapter := o.Result.Adapter.Name
		on[adapter]++
		want, err := os.ReadFile(filepath.Join(alone[adapter], name+".npy"))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(out, name+".npy"))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got), "%s differs from that of %s", name, adapter)
	}
	assert.Len(t, on, 2)
}

// Each worker gives the clip its adapter and its part of the host's memory, unless the
// clip names an adapter.
func TestClipsOfWorkers(t *testing.T) {
	w := &clipWorkers{device: flags.Device{Backend: "auto", Adapter: flags.Adapters{List: []int{2, 5}}}, kept: make([]*machine.Kept, 2), adapters: []int{2, 5}}
	for _, c := range []struct {
		args string
		want flags.Adapters
	}{
		{"decode --adapter=2,5", flags.Adapters{List: []int{5}}},
		{"encode --adapter=2,5", flags.Adapters{List: []int{5}}},
		{"roundtrip --adapter=2,5", flags.Adapters{List: []int{5}}},
		{"decode --adapter=2,5 --adapter=7", flags.Adapters{List: []int{7}}},
		{"decode --adapter=2,5 --backend=d3d12", flags.Adapters{List: []int{2, 5}}},
	} {
		p, err := w.parse(1, append(strings.Fields(c.args), "--memory=3GiB", "--host-memory=8GiB", "--model=m.pth", "--output=o.npy", "--", "in"))
		require.NoError(t, err)
		d, tiles := p.(*clipCommand).device()
		assert.Equal(t, c.want, d.Adapter, c.args)
		assert.EqualValues(t, 3<<30, tiles.Memory, "each device's")
		assert.EqualValues(t, 4<<30, tiles.Host, "of all together")
	}
}

// A device that is lost fails its clip alone: its adapter is opened again, and the other
// one goes on.
func TestBatchLosesDevice(t *testing.T) {
	needDevice(t)
	names := []string{"a", "b", "c", "d", "e", "f"}
	in, single, out := manyLatents(t, names...), t.TempDir(), t.TempDir()
	succeed(t, "batch", "-m", tiny, filepath.Join(in, "*.safetensors"), "-o", filepath.Join(single, "{name}.npy"), "--op=decode")
	var stdout, stderr bytes.Buffer
	said := &terminal.Terminal{Stdout: &stdout, Stderr: &stderr}
	device := flags.Device{Backend: "auto", Precision: "auto", Adapter: flags.Adapters{List: []int{0, 0}}, Tuning: flags.Tuning{NoTune: true}, Shortcuts: flags.Shortcuts{Winograd: "auto"}}
	w := newClipWorkers(newApp(t.Context(), said), device)
	defer func() { w.close() }()
	require.Equal(t, 2, w.start(len(names)))

	device.Adapter = flags.Adapters{List: []int{0}}
	e, err := (&machine.Opener{Terminal: said, Kept: w.kept[1]}).Open(t.Context(), device.Chosen(), tiny, device.Settings(flags.Forcing{}))
	require.NoError(t, err)
	submissions := 0
	e.Device.InjectFaults(func(bytes int64) error {
		if bytes > 0 {
			return nil
		}
		if submissions++; submissions < 3 {
			return nil
		}
		return gpu.ErrDeviceLost
	})
	err = batch.Run(t.Context(), said, batch.Options{
		Inputs: []string{filepath.Join(in, "*.safetensors")}, Output: filepath.Join(out, "{name}.npy"), Model: tiny, Op: "decode", Flags: []string{"--adapter=0,0"},
		Workers: func(int) int { return 2 }, Parse: w.parse, Dropped: w.dropped,
	}, nil)
	var failed *batch.Error
	require.ErrorAs(t, err, &failed, stderr.String())
	assert.Equal(t, job.ExitFailed, failed.Code)
	assert.EqualError(t, err, "6 clips: 5 done, 1 failed")
	assert.Equal(t, 3, submissions)
	for name, o := range outcomes(t, stdout.String()) {
		if o.Status == batch.Failed {
			assert.Equal(t, job.ExitFailed, o.Code)
			assert.Contains(t, o.Error, "device lost", name)
			assert.NoFileExists(t, filepath.Join(out, name+".npy"))
			continue
		}
		want, err := os.ReadFile(filepath.Join(single, name+".npy"))
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(out, name+".npy"))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(want, got), "%s differs", name)
	}
}
