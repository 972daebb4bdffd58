// Package build builds programs of this module for tests. It opens every file that a
// program is built from: Go's test cache watches the files that a test opens, so the
// test runs again after any of them changed.
//
//	err := build.Program(path, "tessera/cmd/native", nil)
package build

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// sources prints a package's own files, for those of the module.
const sources = `{{with .Module}}{{if .Main}}{{$dir := $.Dir}}{{range $.GoFiles}}{{$dir}}/{{.}}
{{end}}{{range $.EmbedFiles}}{{$dir}}/{{.}}
{{end}}{{end}}{{end}}`

// Program builds a package, such as "tessera/cmd/native", into the file out without
// cgo. env is the build's, such as GOOS=js; flags are go build's.
func Program(out, pkg string, env []string, flags ...string) error {
	env = append(append(os.Environ(), "CGO_ENABLED=0"), env...)
	listed, err := run(env, "list", "-deps", "-f", sources, pkg)
	if err != nil {
		return err
	}
	for file := range strings.FieldsFuncSeq(listed, func(r rune) bool { return r == '\n' }) {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		f.Close()
	}
	_, err = run(env, append(append([]string{"build", "-o", out}, flags...), pkg)...)
	return err
}

// run runs a go command and returns what it prints.
func run(env []string, args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Env = env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], errors.Join(err, errors.New(stderr.String())))
	}
	return string(out), nil
}
