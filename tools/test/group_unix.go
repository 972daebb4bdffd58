//go:build !windows

package main

import (
	"os/exec"
	"syscall"
)

// grouped starts a command in a process group of its own, so that cancelling it ends the
// programs that it started, too.
func grouped(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
