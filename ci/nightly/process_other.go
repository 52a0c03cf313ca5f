//go:build unix && !linux

package main

import "syscall"

// endWithParent does nothing: only Linux tells a child that its parent is gone.
func endWithParent(*syscall.SysProcAttr) {}
