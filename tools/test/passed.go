package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// committed records for all machines which steps passed, and with which inputs.
const committed = "tests/passed"

// here records steps of make check and make test that Go's cache does not remember.
const here = "build/test/passed"

// pass is a line of such a file: a step, its inputs' fingerprint and the day.
type pass struct{ step, fingerprint, day string }

func readPassed(file string) (list []pass, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for i, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if len(f) != 3 {
			return nil, fmt.Errorf("%s:%d: found %q, expected STEP FINGERPRINT DAY; delete the line", file, i+1, line)
		}
		list = append(list, pass{f[0], f[1], f[2]})
	}
	return list, err
}

// passedOn returns the day on which a step passed with these inputs, "" if it did not.
func passedOn(file, step, fingerprint string) (string, error) {
	list, err := readPassed(file)
	for _, p := range list {
		if p.step == step && p.fingerprint == fingerprint {
			return p.day, nil
		}
	}
	return "", err
}

// remember records that a step passed; this replaces its old line.
func remember(file, step, fingerprint string) error {
	list, err := readPassed(file)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(p pass) bool { return p.step == step })
	list = append(list, pass{step, fingerprint, time.Now().UTC().Format(time.DateOnly)})
	slices.SortFunc(list, func(a, b pass) int { return strings.Compare(a.step, b.step) })
	var text strings.Builder
	for _, p := range list {
		fmt.Fprintf(&text, "%s %s %s\n", p.step, p.fingerprint, p.day)
	}
	return replace(file, text.String())
}
