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

// kernelsFile remembers with which texts each kernel last passed here, one
// "OPERATION/NAME CHECKSUM" a line.
const kernelsFile = "build/test/kernels"

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

// readKernels reads kernelsFile; a missing or damaged file has fewer kernels.
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
