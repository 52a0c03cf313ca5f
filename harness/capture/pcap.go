package capture

import (
	"fmt"
	"io"
	"net"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"
)

// pcapFile has each session as a TCP connection of its own, made up around the
// messages: from the bundle's A, at a port that no other session has soon, to port 179
// of its B, with the addresses that the ends have. A wire is really two connections,
// and its speakers listen on another port, by which no tool would know BGP.
type pcapFile struct {
	out    *pcapgo.NgWriter
	buffer gopacket.SerializeBuffer
}

const (
	bgpPort       = 179
	firstPort     = 49152 // of the dynamic ones (RFC 6335)
	dynamicPorts  = 1 << 14
	firstSequence = 1000
	window        = 65535
)

func newPCAP(out io.Writer) (format, error) {
	w, err := pcapgo.NewNgWriterInterface(out,
		pcapgo.NgInterface{Name: "wires", Description: "what the wires of a bagrig run carried", LinkType: layers.LinkTypeEthernet, TimestampResolution: 9},
		pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{Application: "bagrig"}})
	if err != nil {
		return nil, err
	}
	return &pcapFile{out: w, buffer: gopacket.NewSerializeBuffer()}, w.Flush()
}

func (f *pcapFile) flush() error { return f.out.Flush() }

func (f *pcapFile) opened(at time.Time, s *session) error {
	s.next = [2]uint32{firstSequence, firstSequence}
	text := fmt.Sprintf("session %s to %s comes up", s.name[0], s.name[1])
	if err := f.packet(at, s, 0, layers.TCP{SYN: true}, nil, text); err != nil {
		return err
	}
	s.next[0]++
	if err := f.packet(at, s, 1, layers.TCP{SYN: true, ACK: true}, nil, ""); err != nil {
		return err
	}
	s.next[1]++
	return f.packet(at, s, 0, layers.TCP{ACK: true}, nil, "")
}

func (f *pcapFile) message(at time.Time, virtual time.Duration, s *session, from int, message []byte) error {
	text := fmt.Sprintf("%s to %s, virtual time %v", s.name[from], s.name[1-from], virtual)
	if err := f.packet(at, s, from, layers.TCP{PSH: true, ACK: true}, message, text); err != nil {
		return err
	}
	s.next[from] += uint32(len(message))
	return nil
}

func (f *pcapFile) closed(at time.Time, s *session) error {
	for from := range s.next {
		if err := f.packet(at, s, from, layers.TCP{FIN: true, ACK: true}, nil, ""); err != nil {
			return err
		}
		s.next[from]++
	}
	return f.packet(at, s, 0, layers.TCP{ACK: true}, nil, "")
}

// packet writes one that an end sends.
func (f *pcapFile) packet(at time.Time, s *session, from int, tcp layers.TCP, payload []byte, comment string) error {
	to, ports := 1-from, [2]layers.TCPPort{layers.TCPPort(firstPort + s.number%dynamicPorts), bgpPort}
	ip := &layers.IPv4{
		Version: 4, TTL: 64, Id: s.id[from], Flags: layers.IPv4DontFragment, Protocol: layers.IPProtocolTCP,
		SrcIP: s.addr[from].AsSlice(), DstIP: s.addr[to].AsSlice(),
	}
	s.id[from]++
	tcp.SrcPort, tcp.DstPort, tcp.Seq, tcp.Window = ports[from], ports[to], s.next[from], window
	if tcp.ACK {
		tcp.Ack = s.next[to]
	}
	if err := tcp.SetNetworkLayerForChecksum(ip); err != nil {
		return err
	}
	ethernet := &layers.Ethernet{SrcMAC: mac(s, from), DstMAC: mac(s, to), EthernetType: layers.EthernetTypeIPv4}
	err := gopacket.SerializeLayers(f.buffer, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, ethernet, ip, &tcp, gopacket.Payload(payload))
	if err != nil {
		return err
	}
	data := f.buffer.Bytes()
	var opts pcapgo.NgPacketOptions
	if comment != "" {
		opts.Comments = []string{comment}
	}
	return f.out.WritePacketWithOptions(gopacket.CaptureInfo{Timestamp: at, CaptureLength: len(data), Length: len(data)}, data, opts)
}

// mac is a locally administered address after an end's IPv4 address.
func mac(s *session, end int) net.HardwareAddr {
	a := s.addr[end].As4()
	return net.HardwareAddr{2, 0, a[0], a[1], a[2], a[3]}
}
