package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// serve --open gives the browser the name of a file that no other user can read, instead
// of the token, and removes the file once the page has loaded or the server ends.
func TestOpenHidesToken(t *testing.T) {
	for _, arrives := range []bool{true, false} {
		dir, temp := t.TempDir(), t.TempDir()
		browser := filepath.Join(dir, "xdg-open")
		script := "#!/bin/sh\necho \"$@\" > " + dir + "/arguments.part\nstat -c '%a %u' \"$1\" > " + dir + "/mode\ncp \"$1\" " + dir + "/page\nmv " + dir + "/arguments.part " + dir + "/arguments\n"
		require.NoError(t, os.WriteFile(browser, []byte(script), 0o777))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "index.html"), nil, 0o666))
		cmd := exec.Command(built.program, "serve", "--open", "--allow-no-adapter", "--json", "--addr", "127.0.0.1:0", "--page", dir)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+temp)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		defer cmd.Process.Kill()
		var told struct{ URL string }
		require.NoError(t, json.NewDecoder(out).Decode(&told), stderr.String())
		address, token, _ := strings.Cut(told.URL, "#token=")
		var arguments []byte
		require.Eventually(t, func() bool {
			arguments, err = os.ReadFile(filepath.Join(dir, "arguments"))
			return err == nil
		}, 20*time.Second, 20*time.Millisecond, "%v", err)
		assert.NotContains(t, string(arguments), token)
		page, err := os.ReadFile(filepath.Join(dir, "page"))
		require.NoError(t, err)
		assert.Contains(t, string(page), `content="0;url=`+told.URL+`"`)
		mode, err := os.ReadFile(filepath.Join(dir, "mode"))
		require.NoError(t, err)
		assert.True(t, strings.HasPrefix(string(mode), "600 "), "mode and user are %s", mode)
		if arrives {
			r, err := http.NewRequest(http.MethodGet, address+"folder", nil)
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+token)
			answer, err := http.DefaultClient.Do(r)
			require.NoError(t, err)
			answer.Body.Close()
		} else {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.NoError(t, cmd.Wait(), stderr.String())
		}
		require.Eventually(t, func() bool {
			left, err := os.ReadDir(temp)
			return err == nil && len(left) == 0
		}, 5*time.Second, 20*time.Millisecond, "the file is still there")
	}
}
