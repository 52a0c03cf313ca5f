package yamltree

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOnlyRegularFilesAreRead(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "pipe.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/zero", folder, pipe} {
		if _, err := ReadFile(name); !errors.Is(err, ErrNotRegular) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want %v with the name", name, err, ErrNotRegular)
		}
	}
	if _, err := ReadFile(filepath.Join(folder, "none.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: got %v, want %v", err, os.ErrNotExist)
	}
}

func TestAFileOfMoreThanTheLimitIsRefused(t *testing.T) {
	name := filepath.Join(t.TempDir(), "big.yaml")
	for _, size := range []int{MaxBytes, MaxBytes + 1} {
		want := bytes.Repeat([]byte{'#'}, size)
		if err := os.WriteFile(name, want, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := ReadFile(name)
		if size <= MaxBytes && (err != nil || !bytes.Equal(got, want)) {
			t.Errorf("%d bytes: got %d and %v, want all", size, len(got), err)
		}
		if size > MaxBytes && (err == nil || !strings.Contains(err.Error(), "more than 4194304 bytes")) {
			t.Errorf("%d bytes: got %d and %v, want an error with the limit", size, len(got), err)
		}
	}
}

// A sparse file of a terabyte costs nothing to make and would fill memory.
func TestAHugeFileIsNotReadToItsEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "huge.yaml")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, 1<<40); err != nil {
		t.Skip(err)
	}
	if _, err := ReadFile(name); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v, want an error with the limit", err)
	}
}
