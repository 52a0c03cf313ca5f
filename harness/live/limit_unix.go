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

// ensureFiles raises the process's soft limit of open files to the hard one
// and tells whether a rig fits.
func ensureFiles(speakers, sessions int) error {
	need := uint64(perSession*sessions + speakers + spareFiles + openFiles())
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
	return fitFiles(need, limit.Cur, speakers, sessions)
}

func fitFiles(need, have uint64, speakers, sessions int) error {
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
