//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tessera/tests/testenv"
)

// The sources of a release are a module that `go get` fetches by its path and tag, here
// from a local repository that replaces the published one, and that other modules can
// build with.
func TestModule(t *testing.T) {
	const path = "github.com/someone/tessera"
	dir := t.TempDir()
	sources := filepath.Join(dir, "sources")
	run := func(in string, env []string, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = in, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s %v:\n%s", name, args, out)
		return string(out)
	}
	run("../..", nil, "tools/module.sh", path, sources)
	deps := run(sources, []string{"CGO_ENABLED=0"}, "go", "list", "-deps", "./cmd/native", "./vae")
	require.Contains(t, deps, "\n"+path+"/vae\n")
	require.NotContains(t, deps, "\ntessera/")
	if testenv.Short(t) {
		return
	}
	for _, args := range []string{"init -q", "add -A", "-c user.name=a -c user.email=a@example.com commit -qm release", "tag v0.1.0"} {
		run(sources, nil, "git", strings.Fields(args)...)
	}

	user := filepath.Join(dir, "user")
	require.NoError(t, os.Mkdir(user, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(user, "main.go"), []byte(`package main

import (
	"`+path+`/gpu"
	"`+path+`/vae"
)

func main() { _, _ = vae.Open(&gpu.Device{}, "", vae.Settings{}) }
`), 0o666))
	cache := strings.TrimSpace(run(".", nil, "go", "env", "GOMODCACHE"))
	env := []string{
		"GOPRIVATE=" + path, "GOPROXY=file://" + cache + "/cache/download", "GONOSUMDB=*", "GOFLAGS=-modcacherw", "CGO_ENABLED=0",
		"GOMODCACHE=" + filepath.Join(dir, "modules"), "GIT_ALLOW_PROTOCOL=file",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://" + sources + ".insteadOf", "GIT_CONFIG_VALUE_0=https://" + path,
	}
	run(user, env, "go", "mod", "init", "user")
	run(user, env, "go", "get", path+"/gpu@v0.1.0", path+"/vae@v0.1.0")
	run(user, env, "go", "build", ".")
}
