package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// parentOf is the environment variable that makes the test below the night that is killed.
const parentOf = "NIGHTLY_TEST_PIPE"

func TestAChildEndsWithANightThatIsKilled(t *testing.T) {
	if pipe := os.Getenv(parentOf); pipe != "" {
		_, err := child{dir: t.TempDir(), log: filepath.Join(t.TempDir(), "log"), args: []string{"sh", "-c", `exec >"$0"; echo up; exec sleep 600`, pipe}}.run(t.Context())
		t.Fatal("the child ended before its night:", err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	night := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	night.Env = append(os.Environ(), parentOf+"="+pipe)
	if err := night.Start(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(pipe) // waits for the child
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	said := bufio.NewReader(file)
	if line, err := said.ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("got %q and %v, want the child to say that it runs", line, err)
	}
	if err := night.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = night.Wait() // killed, as is wanted
	ended := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(said) // ends when nobody holds the other end any more
		ended <- err
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the child goes on a minute after its night was killed")
	}
}
