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

// left is the message of tests/testenv if -short leaves out a test, or a part of it.
const left = "left to make test-all"

// leftOut returns go test's arguments for what -short left out of packages in a step's
// last run: tests, cases, and whole tests that left out a part. ok is false if the step
// has not run here or left out nothing.
func leftOut(step string, packages []string) (args string, ok bool, err error) {
	f, err := os.Open(filepath.Join(logs, step+".json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	defer f.Close()
	in, names := map[string]bool{}, map[string]bool{}
	for lines := bufio.NewReader(f); ; {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", false, err
		}
		var e event
		if json.Unmarshal(line, &e) == nil && e.Action == "output" && strings.Contains(e.Output, left) && among(e.Package, packages) {
			in[e.Package], names[e.Test] = true, true
		}
	}
	if len(names) == 0 {
		return "", false, nil
	}
	return "-run '" + only(names) + "' " + strings.Join(slices.Sorted(maps.Keys(in)), " "), true, nil
}

// among reports whether a package matches go test's patterns, ./DIR or ./DIR/....
func among(path string, patterns []string) bool {
	_, path, _ = strings.Cut(path, "/")
	return slices.ContainsFunc(patterns, func(p string) bool {
		dir, below := strings.CutSuffix(strings.TrimPrefix(p, "./"), "/...")
		return path == dir || below && strings.HasPrefix(path, dir+"/")
	})
}

// only returns a -run pattern for these tests and cases.
func only(names map[string]bool) string {
	var patterns []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		var levels []string
		covered, path := false, ""
		for level := range strings.SplitSeq(name, "/") {
			covered = covered || names[path] // by the test that contains it
			path = strings.TrimPrefix(path+"/"+level, "/")
			levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
		}
		if !covered {
			patterns = append(patterns, strings.Join(levels, "/"))
		}
	}
	return strings.ReplaceAll(strings.Join(patterns, "|"), "'", ".")
}
