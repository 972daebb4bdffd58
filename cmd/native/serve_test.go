package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tessera/app/job"
)

// The page is given out at the printed address until Ctrl-C, which is no error.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "index.html"), []byte("the page"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(built.program, "serve", "--json", "--addr", "127.0.0.1:0", "--page", dir, "--folder", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	var told struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(out).Decode(&told); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	address, token, _ := strings.Cut(told.URL, "#token=")
	if !strings.HasPrefix(address, "http://127.0.0.1:") || len(token) < 40 {
		t.Errorf("the address is %q", told.URL)
	}
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if string(text) != "the page" {
		t.Errorf("got %q", text)
	}
	ended := make(chan error, 1)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Skip(err) // Windows has no such signal
	}
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%v\n%s", err, &stderr)
		}
	case <-time.After(10 * time.Second):
		t.Error("it goes on after Ctrl-C")
	}
}

func TestServeRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"serve", "--page", dir}, job.ExitFailed, "no index.html"},
		{[]string{"serve", "--addr", "nowhere"}, job.ExitFailed, "nowhere"},
		{[]string{"serve", "--adapter", "second"}, job.ExitUsage, "--adapter"},
	} {
		var stdout, stderr bytes.Buffer
		if c.args[1] != "--page" {
			if err := os.WriteFile(filepath.Join(dir, "index.html"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
			c.args = append(c.args, "--page", dir)
		}
		if code := run(c.args, &stdout, &stderr); code != c.code || !strings.Contains(stderr.String(), c.says) {
			t.Errorf("%q: exit code %d, expected %d:\n%s", c.args, code, c.code, &stderr)
		}
	}
}
