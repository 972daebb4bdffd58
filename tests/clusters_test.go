package tests

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"tessera/app/job"
)

// script writes a shell script that logs its arguments.
func script(t *testing.T, path, body string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho \"$0 $*\" >> \"$NOTES\"\n"+body+"\n"), 0o755))
}

// slurm runs the array's script as one of its tasks, with a program that runs body and
// a scontrol that logs its calls: Slurm itself is not installed here.
func slurm(t *testing.T, body string, restarts int) (cmd *exec.Cmd, notes func() string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("Slurm is not at home there")
	}
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	dir := t.TempDir()
	program, noted := filepath.Join(dir, "tessera"), filepath.Join(dir, "notes")
	script(t, program, body)
	script(t, filepath.Join(dir, "scontrol"), "")
	cmd = exec.Command(bash, filepath.Join(root, "integrations/slurm/tessera.sbatch"), "--tile=384")
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "NOTES="+noted, "MODEL=my model.pth", "MANIFEST=clips.jsonl",
		"SLURM_ARRAY_TASK_ID=3", "SLURM_ARRAY_JOB_ID=71", fmt.Sprintf("SLURM_RESTART_COUNT=%d", restarts))
	return cmd, func() string {
		text, err := os.ReadFile(noted)
		require.NoError(t, err)
		return strings.ReplaceAll(string(text), dir+"/", "")
	}
}

// A part is requeued if another try may help, a few times only. It has its own clips
// and continues where it stopped.
func TestSlurm(t *testing.T) {
	const batch = "tessera batch --model=my model.pth --manifest=clips.jsonl --shard=3/8 --resume --progress=plain --tile=384\n"
	for code, again := range map[int]bool{
		job.ExitDone: false, job.ExitFailed: true, job.ExitUsage: false, job.ExitInput: false, job.ExitDevice: true, job.ExitMemory: false, job.ExitInterrupted: true, 137: false, 143: true,
	} {
		for _, restarts := range []int{0, 5} {
			cmd, notes := slurm(t, fmt.Sprint("exit ", code), restarts)
			cmd.Run()
			assert.Equal(t, code, cmd.ProcessState.ExitCode())
			want := batch
			if again && restarts < 5 {
				want += "scontrol requeue 71_3\n"
			}
			assert.Equal(t, want, notes(), "exit code %d, %d restarts", code, restarts)
		}
	}
}

// When the time limit is near, the script signals the program and waits for it.
func TestSlurmTimeIsOver(t *testing.T) {
	cmd, notes := slurm(t, `trap 'sleep 0.3; echo ended >> "$NOTES"; exit 130' TERM; echo begun >> "$NOTES"; while :; do sleep 0.05; done`, 1)
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		for _, e := range cmd.Env {
			if path, found := strings.CutPrefix(e, "NOTES="); found {
				text, _ := os.ReadFile(path)
				return strings.Contains(string(text), "begun")
			}
		}
		return false
	}, 20*time.Second, 20*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	cmd.Wait()
	require.Equal(t, job.ExitInterrupted, cmd.ProcessState.ExitCode())
	require.True(t, strings.HasSuffix(notes(), "ended\nscontrol requeue 71_3\n"), notes())
}

// Kubernetes does not retry the exit codes that a retry cannot cure.
func TestKubernetesCodes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "integrations/kubernetes/job.yaml"))
	require.NoError(t, err)
	m := regexp.MustCompile(`values: \[(.*)\]`).FindStringSubmatch(string(text))
	require.NotNil(t, m)
	require.Equal(t, fmt.Sprintf("%d, %d, %d", job.ExitUsage, job.ExitInput, job.ExitMemory), m[1])
}
