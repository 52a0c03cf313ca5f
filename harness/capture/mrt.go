package capture

import (
	"io"
	"time"

	"github.com/osrg/gobgp/v3/pkg/packet/mrt"
)

// mrtFile has each message as BGP4MP_MESSAGE_AS4 (RFC 6396 S4.4.3): the peer is the
// end that sent it, the local end the one that gets it. Times are whole seconds.
type mrtFile struct{ out io.Writer }

func newMRT(out io.Writer) (format, error) { return mrtFile{out}, nil }

func (mrtFile) opened(time.Time, *session) error { return nil }
func (mrtFile) closed(time.Time, *session) error { return nil }
func (mrtFile) flush() error                     { return nil }

func (f mrtFile) message(at time.Time, _ time.Duration, s *session, from int, message []byte) error {
	to := 1 - from
	body := mrt.NewBGP4MPMessage(s.asn[from], s.asn[to], 0, s.addr[from].String(), s.addr[to].String(), true, nil)
	body.BGPMessagePayload = message
	m, err := mrt.NewMRTMessage(uint32(at.Unix()), mrt.BGP4MP, mrt.MESSAGE_AS4, body)
	if err != nil {
		return err
	}
	data, err := m.Serialize()
	if err != nil {
		return err
	}
	_, err = f.out.Write(data)
	return err
}
