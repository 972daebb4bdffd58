package quiet

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"golang.org/x/sys/windows"
)

// passer is Linux's; see quiet_linux.go.
func passer() bool { return false }

// quietly runs f, in which Dawn is loaded, without Dawn's chatter. Dawn's C
// library takes the standard error it finds when it is loaded and keeps it, so
// it is given a pipe that is read as long as the program runs; Go's own is not
// touched. Go's report of a crash would go to the pipe, too, which nobody reads
// any more then: it goes to standard error as well.
func quietly(f func()) {
	restore := chatter()
	defer restore()
	if debug.SetCrashOutput(os.Stderr, debug.CrashOptions{}) == nil {
		defer debug.SetCrashOutput(nil, debug.CrashOptions{})
	}
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
		pass(read, os.Stderr)
	}()
	return func() { windows.SetStdHandle(windows.STD_ERROR_HANDLE, saved) }
})
