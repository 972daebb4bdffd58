package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// event is a line of go test -json.
type event struct {
	Time                          time.Time
	Action, Package, Test, Output string
}

// passedNames lists the tests and cases that passed in the steps' last runs, as
// "RUNTIME PACKAGE TEST", without skipped ones.
func passedNames() (map[string]bool, error) {
	names := map[string]bool{}
	for _, s := range steps {
		f, err := os.Open(filepath.Join(logs, s.name+".json"))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for lines := bufio.NewReader(f); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break
			}
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action == "pass" && e.Test != "" {
				names[strings.Join([]string{s.runtime(), e.Package, e.Test}, " ")] = true
			}
		}
		f.Close()
	}
	return names, nil
}

// runtime names where the step's Go tests run. Two drivers of one runtime count as one:
// SwiftShader runs the kernels that lavapipe would not choose.
func (s *step) runtime() string {
	if strings.HasPrefix(s.name, "chromium") {
		return "chromium"
	}
	return "native"
}

// printNames prints the names of passed tests, for compareNames.
func printNames(w io.Writer) error {
	names, err := passedNames()
	for _, name := range slices.Sorted(maps.Keys(names)) {
		fmt.Fprintln(w, name)
	}
	return err
}

// compareNames prints the names in a file that did not pass now, and the names that are
// new. Lines of renamed, "OLD NEW", are renamed tests.
func compareNames(w io.Writer, old, renamed string) error {
	now, err := passedNames()
	if err != nil {
		return err
	}
	before, err := os.ReadFile(old)
	if err != nil {
		return err
	}
	var moved [][2]string
	if renamed != "" {
		data, err := os.ReadFile(renamed)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			from, to, _ := strings.Cut(strings.TrimSpace(line), " ")
			moved = append(moved, [2]string{from, to})
		}
	}
	gone, came, count := []string{}, maps.Clone(now), 0
	for line := range strings.Lines(string(before)) {
		was := strings.TrimSpace(line)
		is := was
		for _, m := range moved {
			is = strings.Replace(is, m[0], m[1], 1)
		}
		count++
		delete(came, is)
		if !now[is] {
			gone = append(gone, was)
		}
	}
	fmt.Fprintf(w, "%d before, %d now\n", count, len(now))
	for _, m := range moved {
		fmt.Fprintf(w, "renamed: %s is now %s\n", m[0], m[1])
	}
	for _, name := range gone {
		fmt.Fprintf(w, "gone: %s\n", name)
	}
	for _, name := range slices.Sorted(maps.Keys(came)) {
		fmt.Fprintf(w, "came: %s\n", name)
	}
	return nil
}
