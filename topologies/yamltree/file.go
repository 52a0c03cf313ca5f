package yamltree

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ErrNotRegular means that a name stands for something that is no file of
// text: a folder, a device, a pipe.
var ErrNotRegular = errors.New("not a regular file")

// ReadFile reads a file for Parse. It opens only regular files, because a pipe
// can wait for ever and a device need not end, and reads no more of one than
// MaxBytes and the byte that is too much.
func ReadFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w: want a YAML file", name, ErrNotRegular)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("%s: more than %d bytes: want at most that", name, MaxBytes)
	}
	return data, nil
}
