package quiet

import (
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// passerArg as the only argument starts the program as a passer of another's standard
// error.
const passerArg = "--pass-on-standard-error"

// passer copies standard input to standard error if the program was started for that.
func passer() bool {
	if len(os.Args) != 2 || os.Args[1] != passerArg {
		return false
	}
	passOn(os.Stdin, os.Stderr)
	return true
}

// passOn passes lines on until the printing program closes its end or dies; if it died,
// passOn prints what that program was doing.
func passOn(from io.Reader, to io.Writer) {
	if !pass(from, to) {
		fmt.Fprintln(to, "tessera: ended while the Vulkan drivers were being loaded. If one of them is at fault, VK_DRIVER_FILES=FILE chooses another: FILE is one of the .json files in /usr/share/vulkan/icd.d or /etc/vulkan/icd.d.")
	}
}

// quietly runs f without Dawn's messages. Standard error goes through another process
// meanwhile, so that no line is lost if a driver ends this process by a fault on any
// thread, abort or exit.
func quietly(f func()) {
	end, err := startPasser()
	if err != nil {
		f() // without the filter
		return
	}
	defer end()
	f()
}

// passerEnds is how long the passer may take to end. It may never end if a driver left a
// process behind that holds standard error.
const passerEnds = time.Second

// startPasser starts the passer between standard error and its file, until end is called.
func startPasser() (end func(), err error) {
	if !isProgram {
		return nil, os.ErrInvalid // this executable has no passer mode
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
		Sys:   &syscall.SysProcAttr{Setpgid: true}, // Ctrl-C must not reach it
	})
	if err != nil {
		unix.Close(saved)
		return nil, err
	}
	if err = unix.Dup3(int(write.Fd()), 2, 0); err != nil {
		unix.Close(saved)
		_ = p.Kill() // its end of the pipe may report a false cause
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
