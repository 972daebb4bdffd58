package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// inputs are what a step's result depends on.
type inputs struct {
	builds   []build
	except   string   // suffix of embedded files that do not count
	files    []string // other files that it reads: git paths, relative to the module's root
	versions []string // installed Debian packages
}

// build is a set of packages whose programs and tests are built, with all their
// imports.
type build struct {
	env      string // such as GOOS=js
	packages []string
}

// fingerprint returns a hash of a command line and of what it builds and reads. It
// ignores comments and the names and order of Go files.
func (in inputs) fingerprint(command string) (string, error) {
	parts := []string{command}
	for _, b := range in.builds {
		code, err := b.code(in.except)
		if err != nil {
			return "", err
		}
		parts = append(parts, code...)
	}
	more, err := tracked(append([]string{"go.mod", "go.sum", "tools/pins.sh"}, in.files...))
	if err != nil {
		return "", err
	}
	for _, file := range more {
		sum, err := sumOf(file)
		if err != nil {
			return "", err
		}
		parts = append(parts, file+" "+sum)
	}
	found := versions()
	for _, name := range in.versions {
		parts = append(parts, name+" "+found[name])
	}
	parts = append(parts, runtime.Version())
	slices.Sort(parts)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(parts), "\n")))
	return hex.EncodeToString(sum[:12]), nil
}

// listed is a package as go list prints it.
type listed struct {
	Dir, ImportPath               string
	Module                        *struct{ Main bool }
	GoFiles, CgoFiles, EmbedFiles []string
}

// code hashes the module's files in the packages and in all their imports. Tests are
// only those of the packages themselves; go list names them by their import paths. It
// ignores the page in web/dist, which git ignores and which is built separately, and
// embedded files whose names end in except.
func (b build) code(except string) (parts []string, err error) {
	args := append([]string{"list", "-deps", "-test", "-json=Dir,ImportPath,Module,GoFiles,CgoFiles,EmbedFiles"}, b.packages...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(os.Environ(), strings.Fields(b.env)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return parts, nil
		} else if err != nil {
			return nil, err
		}
		if p.Module == nil || !p.Module.Main || strings.HasSuffix(p.ImportPath, ".test") {
			continue
		}
		of, _, _ := strings.Cut(p.ImportPath, " ")
		if strings.HasSuffix(of, "/tools/test") { // only its command counts
			continue
		}
		for _, name := range slices.Concat(p.GoFiles, p.CgoFiles, p.EmbedFiles) {
			if strings.HasPrefix(name, "dist/") || except != "" && strings.HasSuffix(name, except) {
				continue
			}
			sum, err := sumOf(filepath.Join(p.Dir, name))
			if err != nil {
				return nil, err
			}
			parts = append(parts, of+" "+sum)
		}
		data, err := under(filepath.Join(p.Dir, "testdata"))
		if err != nil {
			return nil, err
		}
		for _, file := range data {
			sum, err := sumOf(file)
			if err != nil {
				return nil, err
			}
			parts = append(parts, of+" "+filepath.ToSlash(strings.TrimPrefix(file, p.Dir))+" "+sum)
		}
	}
}

// under lists the files in a folder and its subfolders; none if the folder is missing.
func under(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return files, err
}

// tracked lists git's files under some paths, without documents and this program's
// outputs.
func tracked(paths []string) ([]string, error) {
	out, err := exec.Command("git", append([]string{"ls-files", "-z", "--"}, paths...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("git ls-files: %w", err)
	}
	files := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	return slices.DeleteFunc(files, func(f string) bool { return filepath.Ext(f) == ".md" || f == committed }), nil
}

// sumOf hashes a file without its comments.
func sumOf(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(bare(file, data))
	return hex.EncodeToString(sum[:]), nil
}

// bare removes comments and empty lines from a file, if its kind is known.
func bare(file string, data []byte) []byte {
	switch filepath.Ext(file) {
	case ".go":
		return tokens(data)
	case ".wgsl": // WGSL has no strings
		return withoutComments(data, "//", true)
	case ".js", ".c":
		return withoutComments(data, "//", false)
	case ".sh", ".py":
		return withoutComments(data, "#", false)
	}
	return data
}

// withoutComments removes comments that fill a line, and with `behind` also those after
// code.
func withoutComments(data []byte, mark string, behind bool) []byte {
	var out []byte
	for line := range bytes.Lines(data) {
		if at := bytes.Index(line, []byte(mark)); at >= 0 && (behind || len(bytes.TrimSpace(line[:at])) == 0) {
			line = line[:at]
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(append(out, line...), '\n')
		}
	}
	return out
}

// tokens lists the tokens of a Go file, one per line, with its directives.
func tokens(data []byte) []byte {
	files := token.NewFileSet()
	var s scanner.Scanner
	s.Init(files.AddFile("", files.Base(), len(data)), data, nil, scanner.ScanComments)
	var out []byte
	for {
		_, kind, text := s.Scan()
		switch {
		case kind == token.EOF:
			return out
		case kind == token.COMMENT && !strings.HasPrefix(text, "//go:"):
			continue
		case kind == token.SEMICOLON:
			text = ";"
		case text == "":
			text = kind.String()
		}
		out = append(append(out, text...), '\n')
	}
}

// outside are the Debian packages whose programs and drivers tests use.
var outside = []string{"mesa-vulkan-drivers", "chromium", "firefox-esr", "ffmpeg", "nginx-light"}

// versions returns the installed versions of the packages in outside. It asks each
// time, because the step setup installs them.
func versions() map[string]string {
	args := append([]string{"-W", "-f", "${Package} ${Version}\n"}, outside...)
	out, _ := exec.Command("dpkg-query", args...).Output() // it fails if one is missing, but prints the others
	found := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if name, version, _ := strings.Cut(strings.TrimSpace(line), " "); version != "" {
			found[name] = version
		}
	}
	return found
}
