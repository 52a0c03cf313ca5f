package live

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
)

func take(t *testing.T) (*block, plan) {
	t.Helper()
	topology := small(t)
	b, p, err := takeBlock(DefaultPort, topology, topology.Index())
	must(t, err)
	return b, p
}

func TestTwoBlocksAreNeverTheSame(t *testing.T) {
	a, _ := take(t)
	b, _ := take(t)
	if a.second == b.second {
		t.Errorf("both took 127.%d.0.0/16", a.second)
	}
	first := a.second
	must(t, a.release())
	c, _ := take(t)
	if c.second != first {
		t.Errorf("after a release: got 127.%d.0.0/16, want 127.%d.0.0/16 again", c.second, first)
	}
	must(t, b.release())
	must(t, c.release())
}

func TestABlockWithAForeignListenerIsLeftAlone(t *testing.T) {
	b, p := take(t)
	must(t, b.release())
	foreign, err := net.Listen("tcp4", fmt.Sprintf("%v:%d", p.device[len(p.device)-1], DefaultPort))
	must(t, err)
	defer foreign.Close()
	e := newEngine(t, nil)
	if e.block.second == b.second {
		t.Errorf("took 127.%d.0.0/16, where %v is in use", b.second, foreign.Addr())
	}
	must(t, e.Start(context.Background()))
}

func TestAPortThatIsTakenEverywhereIsAnErrorThatSaysWhatToChange(t *testing.T) {
	everywhere, err := net.Listen("tcp4", "0.0.0.0:0")
	must(t, err)
	defer everywhere.Close()
	port := everywhere.Addr().(*net.TCPAddr).Port
	e, err := New(Options{Topology: small(t), Port: port})
	if err == nil {
		must(t, e.Close())
	}
	for _, want := range []string{"--port", fmt.Sprint(port), "0.0.0.0"} {
		if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %v with %q in it", err, ErrBusy, want)
		}
	}
}
