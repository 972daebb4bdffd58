//go:build unix

package media

import (
	"os/exec"
	"syscall"
)

func newProcessGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
