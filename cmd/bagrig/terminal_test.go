package main

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

func TestATerminalSaysHowWideItIsAndAFileDoesNot(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("this system has no /dev/ptmx:", err)
	}
	defer terminal.Close()
	for _, want := range []int{80, 200} {
		size := struct{ rows, columns, x, y uint16 }{rows: 24, columns: uint16(want)}
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, terminal.Fd(), syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size))); errno != 0 {
			t.Fatal(errno)
		}
		if got := columns(terminal); got != want {
			t.Errorf("terminal: got %d columns, want %d", got, want)
		}
	}
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if got := columns(file); got != 0 {
		t.Errorf("file: got %d columns, want 0", got)
	}
	if got := columns(&bytes.Buffer{}); got != 0 {
		t.Errorf("buffer: got %d columns, want 0", got)
	}
}
