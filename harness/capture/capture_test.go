package capture

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
	"github.com/osrg/gobgp/v3/pkg/packet/bgp"
	"github.com/osrg/gobgp/v3/pkg/packet/mrt"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// ends are the addresses of the sessions of these tests.
var ends = [2]netip.Addr{netip.MustParseAddr("127.16.1.9"), netip.MustParseAddr("192.0.2.1")}

func topology(t *testing.T) *topologies.Topology {
	t.Helper()
	topology, err := topologies.Preset("prometheus-mini")
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

func serialized(t *testing.T, m *bgp.BGPMessage) []byte {
	t.Helper()
	b, err := m.Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// said is a message of a session.
type said struct {
	bundle  int32
	fromB   bool
	message []byte
}

// exchange is what two sessions of one bundle, one after the other, and one of another
// carry: OPENs, KEEPALIVEs, an UPDATE with as many prefixes as fit, and a NOTIFICATION.
func exchange(t *testing.T) []said {
	t.Helper()
	open := serialized(t, bgp.NewBGPOpenMessage(bgp.AS_TRANS, 90, "10.0.0.9", []bgp.OptionParameterInterface{
		bgp.NewOptionParameterCapability([]bgp.ParameterCapabilityInterface{bgp.NewCapFourOctetASNumber(4200000001)}),
	}))
	var nlri []*bgp.IPAddrPrefix
	for i := range 900 {
		nlri = append(nlri, bgp.NewIPAddrPrefix(24, netip.AddrFrom4([4]byte{10, byte(i >> 8), byte(i), 0}).String()))
	}
	large := serialized(t, bgp.NewBGPUpdateMessage(nil, []bgp.PathAttributeInterface{
		bgp.NewPathAttributeOrigin(0), bgp.NewPathAttributeNextHop("192.0.2.1"),
		bgp.NewPathAttributeAsPath([]bgp.AsPathParamInterface{bgp.NewAs4PathParam(bgp.BGP_ASPATH_ATTR_TYPE_SEQ, []uint32{4200000001})}),
		bgp.NewPathAttributeExtendedCommunities([]bgp.ExtendedCommunityInterface{bgp.NewLinkBandwidthExtended(23456, 125e6)}),
	}, nlri))
	keepalive := serialized(t, bgp.NewBGPKeepAliveMessage())
	bye := serialized(t, bgp.NewBGPNotificationMessage(6, 2, nil))
	return []said{
		{0, false, open}, {0, true, open}, {7, true, open}, {0, true, keepalive}, {0, false, keepalive}, {0, true, large}, {0, true, large},
		{7, false, open}, {0, false, keepalive}, {0, false, bye},
		{0, false, open}, {0, true, open}, {0, true, keepalive},
	}
}

// write lets a writer take the exchange, and a second session of bundle 0 begin after
// the NOTIFICATION.
func write(w *Writer, list []said) {
	w.Opened(0, ends)
	w.Opened(7, [2]netip.Addr{ends[0], netip.MustParseAddr("127.16.1.10")})
	for i, s := range list {
		if i == 10 {
			w.Closed(0)
			w.Opened(0, ends)
		}
		w.Message(state.Direction{Bundle: s.bundle, FromB: s.fromB}, time.Duration(i)*time.Minute, s.message)
	}
	w.Closed(7)
}

func files(t *testing.T) (mrtPath, pcapPath string, list []said) {
	t.Helper()
	dir := t.TempDir()
	mrtPath, pcapPath, list = filepath.Join(dir, "run.mrt"), filepath.Join(dir, "run.pcapng"), exchange(t)
	w, err := Create(topology(t), mrtPath, pcapPath)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_900_000_000, 0)
	w.clock = func() time.Time { now = now.Add(time.Millisecond); return now }
	write(w, list)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return mrtPath, pcapPath, list
}

func TestMRTHoldsEveryMessageWithWhoSentIt(t *testing.T) {
	path, _, list := files(t)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Split(mrt.SplitMrt)
	x, n := topology(t), 0
	for ; scanner.Scan(); n++ {
		data := scanner.Bytes()
		var h mrt.MRTHeader
		if err := h.DecodeFromBytes(data[:mrt.MRT_COMMON_HEADER_LEN]); err != nil {
			t.Fatal(err)
		}
		m, err := mrt.ParseMRTBody(&h, data[mrt.MRT_COMMON_HEADER_LEN:])
		if err != nil {
			t.Fatal(err)
		}
		body, want := m.Body.(*mrt.BGP4MPMessage), list[n]
		from, to := x.Bundles[want.bundle].A, x.Bundles[want.bundle].B
		if want.fromB {
			from, to = to, from
		}
		ix := x.Index()
		if body.PeerAS != x.Devices[ix.Device[from]].ASN || body.LocalAS != x.Devices[ix.Device[to]].ASN {
			t.Errorf("message %d: from AS %d to AS %d, want those of %s and %s", n, body.PeerAS, body.LocalAS, from, to)
		}
		if got := data[len(data)-len(want.message):]; !bytes.Equal(got, want.message) {
			t.Errorf("message %d: got % x, want % x", n, got[:40], want.message[:40])
		}
		if h.Timestamp != 1_900_000_000 {
			t.Errorf("message %d: time %d, want the real one", n, h.Timestamp)
		}
	}
	if n != len(list) {
		t.Errorf("%d messages, want %d", n, len(list))
	}
}

// Each session is a TCP connection whose two streams, put together by sequence numbers,
// are the messages in order.
func TestPcapHoldsEverySessionAsAConnection(t *testing.T) {
	_, path, list := files(t)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := pcapgo.NewNgReader(file, pcapgo.DefaultNgReaderOptions)
	if err != nil {
		t.Fatal(err)
	}
	type stream struct {
		data           []byte
		next           uint32
		opened, closed bool
	}
	streams, last := map[[2]gopacket.Flow]*stream{}, time.Time{}
	for {
		data, ci, err := reader.ReadPacketData()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if ci.Timestamp.Before(last) {
			t.Errorf("time goes back from %v to %v", last, ci.Timestamp)
		}
		last = ci.Timestamp
		p := gopacket.NewPacket(data, layers.LayerTypeEthernet, gopacket.Default)
		if p.ErrorLayer() != nil {
			t.Fatal(p.ErrorLayer().Error())
		}
		tcp := p.TransportLayer().(*layers.TCP)
		key := [2]gopacket.Flow{p.NetworkLayer().NetworkFlow(), tcp.TransportFlow()}
		s := streams[key]
		if s == nil {
			s = &stream{}
			streams[key] = s
		}
		other := streams[[2]gopacket.Flow{key[0].Reverse(), key[1].Reverse()}]
		switch {
		case tcp.SYN:
			s.opened, s.next = true, tcp.Seq+1
		case tcp.Seq != s.next:
			t.Errorf("%v: sequence number %d, want %d", key, tcp.Seq, s.next)
		default:
			s.data, s.next = append(s.data, tcp.Payload...), s.next+uint32(len(tcp.Payload))
		}
		if tcp.FIN {
			s.closed, s.next = true, s.next+1
		}
		if tcp.ACK && other != nil && tcp.Ack != other.next {
			t.Errorf("%v: acknowledges %d, want %d", key, tcp.Ack, other.next)
		}
	}
	// Two of bundle 0 and one of bundle 7, with two streams each.
	if len(streams) != 6 {
		t.Errorf("%d streams, want 6", len(streams))
	}
	got, closed := 0, 0
	for _, s := range streams {
		if !s.opened {
			t.Error("a stream does not begin with a SYN")
		}
		if s.closed {
			closed++
		}
		got += len(s.data)
		for rest := s.data; len(rest) > 0; {
			m, err := bgp.ParseBGPMessage(rest)
			if err != nil {
				t.Fatal(err)
			}
			rest = rest[m.Header.Len:]
		}
	}
	want := 0
	for _, s := range list {
		want += len(s.message)
	}
	if got != want || closed != 4 {
		t.Errorf("%d bytes in %d closed streams, want %d in 4", got, closed, want)
	}
}

// tshark is the usual tool: it must find BGP in every session, and nothing odd.
func TestTsharkReadsThePcap(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed: apt-get install -y tshark")
	}
	_, path, list := files(t)
	run := func(args ...string) string {
		cmd := exec.Command(tshark, append([]string{"-r", path, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	types := run("-Y", "bgp", "-T", "fields", "-e", "bgp.type")
	if got := len(strings.FieldsFunc(types, func(r rune) bool { return r == '\n' || r == ',' })); got != len(list) {
		t.Errorf("tshark finds %d BGP messages, want %d: %q", got, len(list), types)
	}
	if odd := run("-Y", "tcp.analysis.flags || _ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0"); odd != "" {
		t.Errorf("tshark finds odd packets:\n%s", odd)
	}
	if got := strings.TrimSpace(run("-Y", "bgp.type == 3", "-T", "fields", "-e", "frame.comment")); got != "r1-f1-s1 to r1-f1-e1, virtual time 9m0s" {
		t.Errorf("comment of the NOTIFICATION: got %q", got)
	}
}

// full takes so many bytes and no more.
type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

func (*full) Close() error { return nil }

func TestAFileThatIsFullIsAnErrorWithItsPathAndLeavesTheOtherWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.mrt")
	w, err := Create(topology(t), path, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.add("full.pcapng", &full{left: 5000}, newPCAP); err != nil {
		t.Fatal(err)
	}
	list := exchange(t)
	write(w, list)
	err = w.Close()
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "capture full.pcapng is not complete") || strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want %v of the full file alone", err, syscall.ENOSPC)
	}
	total := 0
	for _, s := range list {
		total += len(s.message)
	}
	if info, err := os.Stat(path); err != nil || info.Size() < int64(total) {
		t.Errorf("%v, %v: want at least the %d bytes of the messages", info, err, total)
	}
}

func TestFilesThatCannotBeMadeAreErrorsWithTheirPath(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "x.mrt")
	if _, err := Create(topology(t), missing, ""); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("got %v, want %v with the path", err, os.ErrNotExist)
	}
	if _, err := Create(topology(t), "x", "./x"); err == nil || !strings.Contains(err.Error(), "want two files") {
		t.Errorf("got %v, want two files", err)
	}
}
