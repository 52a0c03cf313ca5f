//go:build unix

package live

import (
	"fmt"
	"os"
	"syscall"
)

// Descriptors that a session needs: a connection into each end, and each has
// a side that was dialled and one that was accepted.
const perSession = 4

// spareFiles is left for everything else a process has open.
const spareFiles = 64

// Descriptors is how many a network needs beside what the process has open.
func Descriptors(speakers, sessions int) int { return perSession*sessions + speakers + spareFiles }

// DescriptorLimit is how many a process may have open: the hard limit, to which
// a rig raises the soft one.
func DescriptorLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, fmt.Errorf("open files: %w", err)
	}
	return limit.Max, nil
}

// ensureFiles raises the process's soft limit of open files to the hard one
// and tells whether a rig fits.
func ensureFiles(speakers, sessions int) error {
	need := uint64(Descriptors(speakers, sessions) + openFiles())
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("open files: %w", err)
	}
	if limit.Cur < limit.Max {
		limit.Cur = limit.Max
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			return fmt.Errorf("open files: raise the limit to %d: %w", limit.Max, err)
		}
	}
	return FitDescriptors(need, limit.Cur, speakers, sessions)
}

// FitDescriptors gives an error with both numbers where a network needs more than
// there are.
func FitDescriptors(need, have uint64, speakers, sessions int) error {
	if need > have {
		return fmt.Errorf("open files: %d speakers with %d sessions need %d descriptors, and the limit is %d (see `ulimit -Hn`)", speakers, sessions, need, have)
	}
	return nil
}

// openFiles counts what the process has open, where the system tells.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
