package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// left is what tests/testenv logs where -short leaves out a part of a test.
const left = "left to make test-all"

// rest is a step that runs what another one left out by -short.
type rest struct {
	of     string // the other step
	only   string // a package, "" for all
	except string // a package, "" for none
}

func (r *rest) has(path string) bool {
	return path != r.except && (r.only == "" || path == r.only)
}

// arguments are those of go test for the tests of which something was left out, whole.
// ok is false where the other step has not run here.
func (r *rest) arguments() (args string, ok bool, err error) {
	f, err := os.Open(filepath.Join(logs, r.of+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	packages, names := map[string]bool{}, map[string]bool{}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", false, err
		}
		var e event
		if json.Unmarshal(line, &e) == nil && e.Action == "output" && strings.Contains(e.Output, left) && r.has(e.Package) {
			name, _, _ := strings.Cut(e.Test, "/")
			packages[e.Package], names[regexp.QuoteMeta(name)] = true, true
		}
	}
	if len(names) == 0 {
		return "", false, nil
	}
	return "-run '^(" + strings.Join(slices.Sorted(maps.Keys(names)), "|") + ")$' " + strings.Join(slices.Sorted(maps.Keys(packages)), " "), true, nil
}
