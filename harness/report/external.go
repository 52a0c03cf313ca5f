package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

// External is a device of the run that was no speaker of the rig; see state.External.
type External struct {
	Device    string            `json:"device"`
	Address   string            `json:"address"` // with its port
	ASN       uint32            `json:"asn"`
	Passive   bool              `json:"passive"` // the device dials
	Damped    bool              `json:"damped"`
	SilenceMS float64           `json:"silence_ms"`
	Sessions  []ExternalSession `json:"sessions"`
}

// ExternalSession is a session of an external device, as the device has it.
type ExternalSession struct {
	Bundle      string `json:"bundle"`
	Neighbor    string `json:"neighbor"`
	Address     string `json:"neighbor_address"`
	NextHop6    string `json:"neighbor_next_hop6"`
	NeighborASN uint32 `json:"neighbor_asn"`
}

func newExternals(sc *harness.Scenario) (list []External) {
	sessions, err := sc.ExternalSessions()
	if err != nil {
		return nil // the run cannot start, and says why
	}
	for _, s := range sessions {
		if n := len(list); n == 0 || list[n-1].Device != s.Device {
			x := sc.External[s.Device].Filled(sc.Topology.Devices[sc.Topology.Index().Device[s.Device]])
			list = append(list, External{
				Device: s.Device, Address: s.Address.String(), ASN: s.ASN, Passive: x.Passive, Damped: x.Damped, SilenceMS: milliseconds(x.Silence),
			})
		}
		x := &list[len(list)-1]
		x.Sessions = append(x.Sessions, ExternalSession{s.Name, s.Neighbor, s.Local.String(), s.Local6.String(), s.NeighborASN})
	}
	return list
}

// externals says which devices were external, and when they counted as quiet.
func (d *Document) externals() string {
	var b strings.Builder
	for _, x := range d.External {
		fmt.Fprintf(&b, "external %s at %s, AS %d: judged by what it tells;\n  quiet counts where no UPDATE has passed on its %d sessions for %v\n",
			x.Device, x.Address, x.ASN, len(x.Sessions), time.Duration(x.SilenceMS*float64(time.Millisecond)))
	}
	return b.String()
}

// SessionTable lists the sessions of external devices: what those must be configured
// with.
func SessionTable(sessions []state.ExternalSession) string {
	columns := []column{
		{head: "external"}, {head: "its address"}, {head: "its AS", right: true}, {head: "neighbour"}, {head: "neighbour's address"}, {head: "its AS", right: true},
		{head: "neighbour is"}, {head: "bundle"},
	}
	var rows [][]string
	for _, s := range sessions {
		rows = append(rows, []string{s.Device, s.Address.String(), fmt.Sprint(s.ASN), s.Neighbor, s.Local.String(), fmt.Sprint(s.NeighborASN), s.Role.String(), s.Name})
	}
	return table(columns, rows)
}
