package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kernels are what a step runs of package wgsl's.
type kernels struct {
	driver  string // on which they run
	tables  string // the set in TABLES, which wgsl/cases_test.go lists
	changed bool   // only those whose assembled texts changed since they last passed here
}

// file remembers with which texts each kernel last passed on the driver, one
// "OPERATION/NAME CHECKSUM" a line.
func (k kernels) file() string { return filepath.Join(logs, "kernels-"+k.driver) }

// kernelLine is what wgsl's TestSources logs of a kernel.
var kernelLine = regexp.MustCompile(`\bkernel (\S+/\S+) ([0-9a-f]{16})\b`)

// kernelTexts are checksums of the kernels' assembled texts, by OPERATION/NAME.
func kernelTexts(ctx context.Context) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-v", "-run", "^TestSources$", "./wgsl")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("assembling the kernels: %w\n%s", err, out)
	}
	sums := map[string]string{}
	for _, m := range kernelLine.FindAllStringSubmatch(string(out), -1) {
		sums[m[1]] = m[2]
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("assembling the kernels: found none in the output of %s", cmd)
	}
	return sums, nil
}

// readKernels reads such a file; a missing or damaged file has fewer kernels.
func readKernels(file string) map[string]string {
	data, _ := os.ReadFile(file)
	sums := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if name, sum, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			sums[name] = sum
		}
	}
	return sums
}

// changedKernels are those whose texts differ from the ones with which they passed.
func changedKernels(file string, sums map[string]string) []string {
	before := readKernels(file)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(sums)), func(name string) bool { return before[name] == sums[name] })
}

// rememberKernels notes that all kernels passed with these texts.
func rememberKernels(file string, sums map[string]string) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&text, "%s %s\n", name, sums[name])
	}
	return replace(file, text.String())
}

// cannotRun is what package wgsl logs of a kernel that the driver lacks something for.
var cannotRun = regexp.MustCompile(`can't run kernel (\w+)`)

// notRun are those of some kernels that the driver could not run, by a step's log.
func notRun(log []byte, names []string) []string {
	lacking := map[string]bool{}
	for _, m := range cannotRun.FindAllSubmatch(log, -1) {
		lacking[string(m[1])] = true
	}
	var list []string
	for _, name := range names {
		if _, kernel, _ := strings.Cut(name, "/"); lacking[kernel] {
			list = append(list, name)
		}
	}
	return list
}

// replace writes a file whole or not at all.
func replace(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	part := fmt.Sprintf("%s.%d", file, os.Getpid())
	if err := os.WriteFile(part, []byte(text), 0o666); err != nil {
		return err
	}
	return os.Rename(part, file)
}
