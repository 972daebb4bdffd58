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

// kernels selects what a step runs of package wgsl.
type kernels struct {
	driver  string // Vulkan driver
	tables  string // the set in TABLES, see wgsl/cases_test.go
	changed bool   // only kernels whose assembled texts changed since they last passed here
}

// file returns the file that records with which texts each kernel last passed on the
// driver, one "OPERATION/NAME CHECKSUM" per line.
func (k kernels) file() string { return filepath.Join(logs, "kernels-"+k.driver) }

// kernelLine matches the log of wgsl's TestSources for a kernel.
var kernelLine = regexp.MustCompile(`\bkernel (\S+/\S+) ([0-9a-f]{16})\b`)

// kernelTexts returns checksums of the kernels' assembled texts, by OPERATION/NAME.
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

// readKernels reads such a file; in a missing or damaged file, kernels are missing.
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

// changedKernels lists those whose texts differ from the ones with which they passed.
func changedKernels(file string, sums map[string]string) []string {
	before := readKernels(file)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(sums)), func(name string) bool { return before[name] == sums[name] })
}

// rememberKernels records that all kernels passed with these texts.
func rememberKernels(file string, sums map[string]string) error {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		fmt.Fprintf(&text, "%s %s\n", name, sums[name])
	}
	return replace(file, text.String())
}

// cannotRun matches package wgsl's log for a kernel that the driver can't run.
var cannotRun = regexp.MustCompile(`can't run kernel (\w+)`)

// notRun returns those of the named kernels that the driver could not run, from a
// step's log.
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

// replace writes a file atomically.
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
