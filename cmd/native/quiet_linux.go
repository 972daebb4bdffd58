package main

import (
	"bufio"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// quietly runs f and drops the lines that Dawn prints straight to the process's
// standard error about limits it lowers ("Warning: maxDynamic... artificially
// reduced"): they say nothing to a user, and Dawn has no switch for them. All
// else that was printed meanwhile is passed on.
func quietly(f func()) {
	pipe, err := os.CreateTemp("", "tessera-stderr-*")
	if err != nil {
		f()
		return
	}
	defer pipe.Close()
	os.Remove(pipe.Name())
	saved, err := unix.Dup(2)
	if err != nil {
		f()
		return
	}
	defer unix.Close(saved)
	if unix.Dup3(int(pipe.Fd()), 2, 0) != nil {
		f()
		return
	}
	func() {
		defer unix.Dup3(saved, 2, 0)
		f()
	}()
	if _, err := pipe.Seek(0, 0); err != nil {
		return
	}
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		if line := lines.Text(); !strings.Contains(line, "artificially reduced") {
			os.Stderr.WriteString(line + "\n")
		}
	}
}
