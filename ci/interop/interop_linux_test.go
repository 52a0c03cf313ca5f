package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bagrig/bagrig/properties/conform"
	"github.com/bagrig/bagrig/properties/conform/inprocess"
)

func TestTheListOfDeviationsIsRead(t *testing.T) {
	list, err := conform.ReadDeviations(deviationsName, deviationsFile, scenarioChecks()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if !strings.Contains(" "+strings.Join(deviceNames(), " ")+" ", " "+d.Device+" ") || d.Got == "" {
			t.Errorf("%s: device %q, got %q: want one of %q, and the word that is known", d.At, d.Device, d.Got, deviceNames())
		}
	}
}

// The devices of this process need no root: their columns of the page hold
// wherever the tests run.
func TestThePageSaysWhatTheDevicesOfThisProcessDo(t *testing.T) {
	deviations, err := conform.ReadDeviations(deviationsName, deviationsFile, scenarioChecks()...)
	if err != nil {
		t.Fatal(err)
	}
	l := &lane{}
	reports, err := l.own(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		deviations.Apply(r)
	}
	unknown, err := judgePage("../../docs/interop.md", false, reports)
	if err != nil || len(unknown) > 0 {
		t.Errorf("%v, not in it: %v", err, unknown)
	}
}

func TestGoBGPsVersionIsThatOfTheModule(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(mod), "github.com/osrg/gobgp/v3 v"+inprocess.GoBGPVersion+"\n") {
		t.Errorf("go.mod has another GoBGP than %s", inprocess.GoBGPVersion)
	}
}

func TestADaemonThatIsMissingIsSkippedWithTheCommandThatInstallsIt(t *testing.T) {
	d := daemon{name: "x", pkg: "x-routing", needs: []string{"/usr/sbin/no-such-daemon"}}
	want := "/usr/sbin/no-such-daemon is missing: apt-get install -y x-routing"
	if os.Geteuid() != 0 {
		want = "namespaces need root"
	}
	if got := d.missing(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestADaemonThatDiesEndsTheRunWithItsLastLines(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	p := &process{name: "d", cmd: exec.Command("sh", "-c", "for i in $(seq 50); do echo line $i; done; echo no such option >&2; exit 3"), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.wait(cancel)
	<-p.done
	err := context.Cause(ctx)
	if err == nil || !strings.HasPrefix(err.Error(), "d died: exit status 3; its last lines:\n  line 3") || !strings.HasSuffix(err.Error(), "  line 50\n  no such option") {
		t.Errorf("got %v", err)
	}
	if err := p.waitFor(ctx, "/no/such/file"); !errors.Is(err, context.Cause(ctx)) {
		t.Errorf("got %v: want that the wait ends with the daemon", err)
	}
}

func TestExitStatus(t *testing.T) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	for _, tc := range []struct {
		ctx  context.Context
		err  error
		want int
	}{
		{context.Background(), nil, 0},
		{context.Background(), fmt.Errorf("%w: x", errDifferent), 1},
		{context.Background(), conform.ErrEnvironment, 2},
		{gone, context.Canceled, 130},
	} {
		if got := status(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%v: got %d, want %d", tc.err, got, tc.want)
		}
	}
}

// mark is put into the environment of a lane, which all of its processes inherit.
const mark = "BAGRIG_INTEROP_TEST_MARK"

// marked lists the processes, of any namespace, that have a mark.
func marked(value string) (list []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(filepath.Join(dir, "environ"))
		if err == nil && bytes.Contains(env, []byte(mark+"="+value+"\x00")) {
			name, _ := os.ReadFile(filepath.Join(dir, "comm"))
			list = append(list, strings.TrimSpace(string(name))+" "+filepath.Base(dir))
		}
	}
	return list
}

// Neither Ctrl-C nor a lane that is killed leaves a process behind, and so no
// namespace, which none of them names.
func TestNothingIsLeftBehind(t *testing.T) {
	bird := daemons[1]
	if why := bird.missing(); why != "" {
		t.Skip(why)
	}
	program := filepath.Join(t.TempDir(), "interop")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	mounts := read(t, "/proc/self/mountinfo")
	for _, how := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		t.Run(how.String(), func(t *testing.T) {
			value := fmt.Sprintf("%d-%d", os.Getpid(), how)
			var out bytes.Buffer
			cmd := exec.Command(program, "-only", "bird", "-page", "none")
			cmd.Env = append(os.Environ(), mark+"="+value)
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wait(t, "bird", func() bool { return strings.Contains(strings.Join(marked(value), " "), "bird") })
			if err := cmd.Process.Signal(how); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if how == syscall.SIGINT && cmd.ProcessState.ExitCode() != 130 {
				t.Errorf("exit status %d, want 130: %s", cmd.ProcessState.ExitCode(), out.String())
			}
			wait(t, "their end", func() bool { return len(marked(value)) == 0 })
		})
	}
	if got := read(t, "/proc/self/mountinfo"); got != mounts {
		t.Errorf("mounts before:\n%safter:\n%s", mounts, got)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// wait waits for something that other processes do.
func wait(t *testing.T, what string, cond func() bool) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	late := time.After(30 * time.Second)
	for !cond() {
		select {
		case <-poll.C:
		case <-late:
			t.Fatalf("still waiting for %s", what)
		}
	}
}
