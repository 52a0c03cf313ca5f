//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
}

// signalGroup asks a process and all that it started to end.
func signalGroup(p *os.Process, quit bool) error {
	if quit {
		return syscall.Kill(-p.Pid, syscall.SIGQUIT)
	}
	return syscall.Kill(-p.Pid, syscall.SIGINT)
}

// killGroup ends what is left of a group; there may be nothing.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
