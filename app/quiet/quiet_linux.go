package quiet

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// passerArg as its only argument makes the program pass on the standard error
// of another.
const passerArg = "--pass-on-standard-error"

// passer, where that is what the program was started for, does it: it passes
// its standard input on to its standard error.
func passer() bool {
	if len(os.Args) != 2 || os.Args[1] != passerArg {
		return false
	}
	passOn(os.Stdin, os.Stderr)
	return true
}

// passOn passes lines on until the program that prints them closes its end, or
// is no more; then it says what that one was doing.
func passOn(from io.Reader, to io.Writer) {
	if !pass(from, to) {
		fmt.Fprintln(to, "tessera: ended while the Vulkan drivers were being loaded. If one of them is at fault, VK_DRIVER_FILES=FILE chooses another: FILE is one of the .json files in /usr/share/vulkan/icd.d or /etc/vulkan/icd.d.")
	}
}

// quietly runs f without Dawn's chatter. Standard error goes through another
// process meanwhile, so that nothing is lost if a driver ends this one, in
// whatever way: by a fault on any thread, abort or exit.
func quietly(f func()) {
	end, err := startPasser()
	if err != nil {
		f() // with the chatter
		return
	}
	defer end()
	f()
}

// passerEnds is how long the passer may take to end. It may not end at all,
// where a driver left a process of its own behind that holds standard error.
const passerEnds = time.Second

// startPasser puts the passer between standard error and its file, until end is
// called.
func startPasser() (end func(), err error) {
	if !isProgram {
		return nil, os.ErrInvalid // this executable would do something else
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer write.Close()
	defer read.Close()
	saved, err := unix.FcntlInt(2, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	p, err := os.StartProcess("/proc/self/exe", []string{os.Args[0], passerArg}, &os.ProcAttr{
		Files: []*os.File{read, nil, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true}, // Ctrl-C is not for it
	})
	if err != nil {
		unix.Close(saved)
		return nil, err
	}
	if err = unix.Dup3(int(write.Fd()), 2, 0); err != nil {
		unix.Close(saved)
		_ = p.Kill() // its end of the pipe may say the wrong thing
		_, _ = p.Wait()
		return nil, err
	}
	return func() {
		_, _ = os.Stderr.WriteString(opened)
		_ = unix.Dup3(saved, 2, 0)
		unix.Close(saved)
		ended := make(chan struct{})
		go func() {
			_, _ = p.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(passerEnds):
		}
	}, nil
}
