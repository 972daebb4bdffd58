//go:build unix

package tests

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Without the vulnerability data its step is skipped, and says so; whatever else
// goes wrong fails it. The tools are pinned.
func TestVulnerabilityStep(t *testing.T) {
	for name, c := range map[string]struct {
		tool string // what stands for go
		ok   bool
		says string
	}{
		"no data":         {`echo "govulncheck: fetching vulnerabilities: no such host"; exit 1`, true, "govulncheck, skipped: no vulnerability data"},
		"a vulnerability": {`echo "Vulnerability #1: GO-2026-1"; exit 3`, false, "GO-2026-1"},
		"no tool":         {`echo "no such module"; exit 1`, false, "no such module"},
		"all well":        {`echo "$2: No vulnerabilities found."`, true, "golang.org/x/vuln/cmd/govulncheck@v"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n"+c.tool+"\n"), 0o777))
			cmd := exec.Command("sh", "../tools/test.sh", "govulncheck")
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			require.Equal(t, c.ok, err == nil, "%v: %s", err, out)
			require.Contains(t, string(out), c.says)
		})
	}
}

// The page goes into no folder that is a slip of the pen or holds anything else, since
// that is emptied first.
func TestPageFolder(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "precious.txt"), nil, 0o666))
	for name, says := range map[string]string{
		"chekc": "web: chekc: expected check, quick, or a folder with a slash in it, such as ./chekc",
		folder:  "holds other files than a page",
	} {
		out, err := exec.Command("sh", "../tools/web.sh", name).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), says)
	}
	require.FileExists(t, filepath.Join(folder, "precious.txt"))
}
