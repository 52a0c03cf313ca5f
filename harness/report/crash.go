package report

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
)

// crashOutput is the file that the Go runtime writes a fatal panic to.
type crashOutput struct{ file *os.File }

// CatchCrash sends what the Go runtime prints when the process dies of a panic
// to crash.txt as well, from now until Finish, which removes the file if it is
// empty. A panic in a goroutine of GoBGP cannot be recovered by us, so this is
// all that a run folder can keep of it. The setting holds for the whole
// process, so it is the command that calls this.
func (f *Folder) CatchCrash() error {
	file, err := os.OpenFile(f.path(CrashFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return fmt.Errorf("run folder: %w", err)
	}
	if err := debug.SetCrashOutput(file, debug.CrashOptions{}); err != nil {
		return errors.Join(fmt.Errorf("run folder: crash output: %w", err), file.Close(), os.Remove(file.Name()))
	}
	f.crash = &crashOutput{file}
	return nil
}

func (c *crashOutput) release() error {
	if c == nil {
		return nil
	}
	resetErr := debug.SetCrashOutput(nil, debug.CrashOptions{})
	info, err := c.file.Stat()
	if err := errors.Join(resetErr, err, c.file.Close()); err != nil {
		return err
	}
	if info.Size() > 0 {
		return nil
	}
	return os.Remove(c.file.Name())
}
