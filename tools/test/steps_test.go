package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSteps(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range steps {
		assert.False(t, seen[s.name], "two steps %s", s.name)
		assert.True(t, s.after == "" || seen[s.after], "%s waits for %s, which does not begin before it", s.name, s.after)
		seen[s.name] = true
		assert.NotEmpty(t, s.does+s.tests, s.name)
		assert.NotEmpty(t, s.shows, s.name)
		assert.NotZero(t, s.in, s.name)
		out, err := exec.Command("sh", "-n", "-c", s.command()).CombinedOutput()
		assert.NoError(t, err, "%s: %s", s.name, out)
	}
}

// Without the vulnerability data the step is skipped with a message. Any other failure
// fails it. The tools are pinned.
func TestVulnerabilityStep(t *testing.T) {
	for name, c := range map[string]struct {
		tool string // stands in for go
		ok   bool
		says string
	}{
		"no data":         {`echo "govulncheck: fetching vulnerabilities: no such host"; exit 1`, true, "skipped: no vulnerability data"},
		"a vulnerability": {`echo "Vulnerability #1: GO-2026-1"; exit 3`, false, "GO-2026-1"},
		"no tool":         {`echo "no such module"; exit 1`, false, "no such module"},
		"all well":        {`echo "$2: No vulnerabilities found."`, true, "golang.org/x/vuln/cmd/govulncheck@v"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), []byte("#!/bin/sh\n"+c.tool+"\n"), 0o777))
			cmd := exec.Command("sh", "-c", vulnerabilities)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			require.Equal(t, c.ok, err == nil, "%v: %s", err, out)
			require.Contains(t, string(out), c.says)
		})
	}
}

// command runs a program that must succeed.
func command(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	require.NoError(t, err, "%s %v: %s", name, args, out)
}
