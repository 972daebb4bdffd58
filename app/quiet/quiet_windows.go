package quiet

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/windows"
)

// passer exists on Linux only; see quiet_linux.go.
func passer() bool { return false }

// quietly runs f, in which Dawn is loaded, without Dawn's messages. Dawn's C library
// keeps the standard error that it finds when it is loaded, so it finds a pipe, which is
// read as long as the program runs; Go's own standard error is unchanged. Go would also
// write its report of a crash to the pipe, whose reader is dead by then, so the report
// goes to standard error as well.
func quietly(f func()) {
	restore := chatter()
	defer restore()
	if debug.SetCrashOutput(os.Stderr, debug.CrashOptions{}) == nil {
		defer debug.SetCrashOutput(nil, debug.CrashOptions{})
	}
	f()
}

// chatter puts the pipe in the place of standard error on the first call, and returns a
// function that restores standard error.
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
		pass(read, os.Stderr)
	}()
	return func() { windows.SetStdHandle(windows.STD_ERROR_HANDLE, saved) }
})
