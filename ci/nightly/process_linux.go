package main

import "syscall"

// endWithParent has a child end when the night is killed: nobody else would end it.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
