//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/gpu"
	"tessera/tune"
	"tessera/wgsl"
)

// The report of tools/gpu.sh ends with the adapter's kernels: the verified ones and the
// chosen ones, which are also in devices.json. It begins with what the machine has.
func TestReportOfCard(t *testing.T) {
	needDevice(t)
	var list struct{ Library string }
	require.NoError(t, json.Unmarshal([]byte(succeed(t, "devices", "--json").stdout), &list))
	folder := t.TempDir()
	script, err := os.ReadFile("../../tools/gpu.sh")
	require.NoError(t, err)
	write(t, filepath.Join(folder, "gpu.sh"), script)
	library := filepath.Join(folder, filepath.Base(list.Library))
	require.NoError(t, os.Symlink(list.Library, library))
	require.NoError(t, os.Symlink(built.program, filepath.Join(folder, "tessera")))

	t.Setenv("XDG_CACHE_HOME", filepath.Join(folder, "cache"))
	all, err := gpu.Adapters(gpu.Options{Adapter: -1, Library: library})
	require.NoError(t, err)
	set, err := wgsl.NewSet(wgsl.F32, all[0], nil)
	require.NoError(t, err)
	proof := tune.Verification{Operation: "conv3d", Kernel: "tiled", Storage: "f32", Weights: "f16", Verdict: "agrees with the reference"}
	trial := tune.Trial{Class: "conv3d 128→256", Storage: "f32", Weights: "f16", Usual: "plain", Kernel: "tiled", GFLOPs: map[string]float64{"plain": 100, "tiled": 150}}
	record, err := json.Marshal(tune.Record{Verifications: []tune.Verification{proof}, Trials: []tune.Trial{trial}})
	require.NoError(t, err)
	gpu.StoreResult(all[0], "kernels by text\n"+set.Texts(), record)

	cmd := exec.Command("sh", filepath.Join(folder, "gpu.sh"))
	cmd.Env = append(os.Environ(), "STEPS=none")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	report, err := os.ReadFile(filepath.Join(folder, "report.md"))
	require.NoError(t, err)
	require.Regexp(t, "(?s)## Kernels, by proof and by trial\n\n```\n.*     kernel "+proof.String()+"\n     chosen .*\n```", string(report))
	require.Contains(t, string(report), "     chosen "+trial.String()+"\n")
	require.NotRegexp(t, "(?s)chosen .*## Kernels", string(report))
	require.Regexp(t, "\nVulkan loader: .+\nVulkan drivers: .+\ncards on the PCI bus: .+\ndevice nodes: .+\n", string(report))
	var stored struct {
		Devices []struct{ Kernels tune.Record }
	}
	chosen, err := os.ReadFile(filepath.Join(folder, "devices.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(chosen, &stored))
	require.Equal(t, []tune.Trial{trial}, stored.Devices[0].Kernels.Trials)

	cmd = exec.Command("sh", filepath.Join(folder, "gpu.sh"))
	cmd.Env = append(os.Environ(), "STEPS=none", "VK_DRIVER_FILES=/nonexistent", "VK_ICD_FILENAMES=/nonexistent")
	out, err = cmd.CombinedOutput()
	require.Error(t, err)
	require.Regexp(t, "(?s)Vulkan loader: .*no usable adapter", string(out))
}
