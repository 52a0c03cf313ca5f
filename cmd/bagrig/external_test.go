package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket/pcapgo"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers/gobgp"
)

// outside runs GoBGP in the place of a device of a scenario, and gives the flag that
// says so.
func outside(t *testing.T, scenario, device string) (flag string) {
	t.Helper()
	at := netip.MustParseAddr("127.9.2.1")
	l, err := net.Listen("tcp4", netip.AddrPortFrom(at, 0).String())
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	flag = fmt.Sprintf("%s=%v,port=%d,silence=100ms,wait=5s", device, at, port)
	name, x, err := state.ParseExternal(flag)
	if err != nil {
		t.Fatal(err)
	}
	sc, err := harness.LoadWith(scenario, map[string]state.External{name: x})
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := sc.ExternalSessions()
	if err != nil {
		t.Fatal(err)
	}
	opts := gobgp.PlainOptions{ASN: sessions[0].ASN, RouterID: at, Listen: at, Port: port}
	for _, s := range sessions {
		opts.Neighbors = append(opts.Neighbors, gobgp.PlainNeighbor{Address: s.Local, ASN: s.NeighborASN})
	}
	p, err := gobgp.StartPlain(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return flag
}

// packets counts what a pcapng file holds; it must be complete.
func packets(t *testing.T, path string) (n int) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := pcapgo.NewNgReader(file, pcapgo.DefaultNgReaderOptions)
	for err == nil {
		if _, _, err = reader.ReadPacketData(); err == nil {
			n++
		}
	}
	if err.Error() != "EOF" {
		t.Errorf("%s: after %d packets: %v", path, n, err)
	}
	return n
}

func TestARunWithADeviceOfYourOwnSaysWhatItCannotSee(t *testing.T) {
	flag := outside(t, "first-light", "r1-bag1")
	out, pcap, mrt := t.TempDir(), filepath.Join(t.TempDir(), "x.pcapng"), filepath.Join(t.TempDir(), "x.mrt")
	r := bagrig(t, "run", "--out", out, "--external", flag, "--pcap", pcap, "--mrt", mrt, "first-light")
	if r.code != exitViolated {
		t.Fatalf("exit %d, want %d: GoBGP takes no minimum\n%s\n%s", r.code, exitViolated, r.stdout, r.stderr)
	}
	for _, want := range []string{"external r1-bag1 at 127.9.2.1", "for 100ms", "proportion at r1-bag1", "not observable", "--external '" + flag + "'", "--pcap " + pcap} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the summary does not say %q:\n%s", want, r.stdout)
		}
	}
	data, err := os.ReadFile(filepath.Join(out, "latest", report.RunFile))
	if err != nil {
		t.Fatal(err)
	}
	var doc report.Document
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.External) != 1 || doc.External[0].SilenceMS != 100 || len(doc.External[0].Sessions) != 5 {
		t.Errorf("external: got %+v", doc.External)
	}
	i := slices.IndexFunc(doc.Properties, func(p report.Property) bool { return p.Name == "proportion at r1-bag1" })
	if i < 0 || doc.Properties[i].Status != report.PropertyNotObservable || doc.Properties[i].Reason == "" {
		t.Errorf("properties: got %+v, want proportion not observable at the device, with the reason", doc.Properties)
	}
	if again, err := harness.Load(filepath.Join(out, "latest", report.ScenarioFile)); err != nil || again.External["r1-bag1"].Address.String() != "127.9.2.1" {
		t.Errorf("the copy of the scenario does not have the device: %v", err)
	}
	if n := packets(t, pcap); n < doc.BringUp.Counters.Updates {
		t.Errorf("%d packets captured, want more than the %d UPDATEs of bring-up alone", n, doc.BringUp.Counters.Updates)
	}
	if info, err := os.Stat(mrt); err != nil || info.Size() == 0 {
		t.Errorf("%s: %v %v", mrt, info, err)
	}
}

func TestFlagsOfDevicesAndCapturesThatCannotBe(t *testing.T) {
	x := filepath.Join(t.TempDir(), "x")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--external", "r1-bag1"}, "want NAME=ADDRESS"},
		{[]string{"--external", "r9-bag1=192.0.2.1"}, `external "r9-bag1": no such device`},
		{[]string{"--external", "r1-bag1=192.0.2.1", "--external", "r1-bag1=192.0.2.2"}, "given twice"},
		{[]string{"--external", "r1-bag1=192.0.2.1", "--engine", "sim"}, "engine sim has no wires"},
		{[]string{"--external", "r1-bag1=192.0.2.1", "--engine", "both"}, "engine sim has no wires"},
		{[]string{"--external", "r1-bag1=127.9.2.9,port=1,wait=200ms"}, "connection refused"},
		{[]string{"--external", "r1-bag1=198.51.100.1,wait=200ms"}, "is no address of this host"},
		{[]string{"--pcap", x, "--engine", "sim"}, "engine sim has no wires"},
		{[]string{"--pcap", x, "--mrt", x}, "want two files"},
		{[]string{"--mrt", x + "/y"}, "no such file or directory"},
	} {
		r := bagrig(t, append([]string{"run", "--out", t.TempDir(), "first-light"}, c.args...)...)
		if r.code != exitBad || !strings.Contains(r.stderr, c.want) {
			t.Errorf("%q: exit %d, want %d with %q:\n%s", c.args, r.code, exitBad, c.want, r.stderr)
		}
	}
}

func TestAnInterruptedRunLeavesItsCapturesComplete(t *testing.T) {
	pcap := filepath.Join(t.TempDir(), "x.pcapng")
	cmd := exec.Command(binary, "run", "--out", t.TempDir(), "--pcap", pcap, "prometheus")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for range look.C {
		if info, err := os.Stat(pcap); err == nil && info.Size() > 1<<16 {
			break
		}
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted {
		t.Errorf("got %v, want exit %d", err, exitInterrupted)
	}
	if n := packets(t, pcap); n == 0 {
		t.Error("no packets")
	}
}
