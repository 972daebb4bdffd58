package main

import (
	"bufio"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/windows"
)

// quietly runs f, in which Dawn is loaded, and drops the lines that Dawn prints
// about limits it lowers, as quiet_linux.go does. Dawn's C library takes the
// standard error it finds when it is loaded and keeps it, so it is given a pipe
// that is read as long as the program runs; Go's own is not touched.
func quietly(f func()) {
	restore := chatter()
	defer restore()
	f()
}

// chatter puts the pipe in the place of standard error, the first time it is
// called, and returns a function that puts standard error back.
var chatter = sync.OnceValue(func() func() {
	saved, err := windows.GetStdHandle(windows.STD_ERROR_HANDLE)
	if err != nil {
		return func() {}
	}
	read, write, err := os.Pipe()
	if err != nil {
		return func() {}
	}
	if windows.SetStdHandle(windows.STD_ERROR_HANDLE, windows.Handle(write.Fd())) != nil {
		return func() {}
	}
	go func() {
		defer runtime.KeepAlive(write)
		for lines := bufio.NewScanner(read); lines.Scan(); {
			if line := lines.Text(); !strings.Contains(line, "artificially reduced") {
				os.Stderr.WriteString(line + "\n")
			}
		}
	}()
	return func() { windows.SetStdHandle(windows.STD_ERROR_HANDLE, saved) }
})
