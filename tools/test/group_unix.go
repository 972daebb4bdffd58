//go:build !windows

package main

import (
	"os/exec"
	"syscall"
)

// grouped starts a command in its own process group, so that cancelling it also ends
// the programs that it started.
func grouped(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
}
