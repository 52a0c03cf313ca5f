package report

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

// Table is one of the tables that `bagrig show` prints. Exactly one of its
// lists is not nil. docs/explain.md describes every field.
type Table struct {
	SceneHead
	RIB      []RIBRow     `json:"rib,omitzero"`
	FIB      []FIBRow     `json:"fib,omitzero"`
	Told     []ToldRow    `json:"told,omitzero"`
	Sessions []SessionRow `json:"sessions,omitzero"`

	member uint64 // bits/s of the topology's smallest member
}

// TableNames are the tables there are.
func TableNames() []string { return []string{"rib", "fib", "told", "sessions"} }

// Filter says which rows of a table are wanted; -1 = all. Sessions know no
// prefix.
type Filter struct {
	Device int // index in the topology
	Prefix int // index in the topology
}

// RIBRow is an Adj-RIB-In entry, or a device's own route.
type RIBRow struct {
	Device   string   `json:"device"`
	Prefix   string   `json:"prefix"`
	Neighbor string   `json:"neighbor,omitempty"` // empty for the device's own route
	Bundle   string   `json:"bundle,omitempty"`
	ASPath   []uint32 `json:"as_path"`
	Received *uint64  `json:"received_bps"` // nil = no valid value
	Used     bool     `json:"used"`
	Share    uint64   `json:"share"` // bits/s, or 1 each where shares are equal
}

// FIBRow is a FIB entry.
type FIBRow struct {
	Device  string           `json:"device"`
	Prefix  string           `json:"prefix"`
	Group   int              `json:"group"` // 0 = a single next hop
	Weights []HardwareWeight `json:"weights"`
	Error   Number           `json:"error"`
	Dropped []string         `json:"dropped"` // bundles

	Compromise string `json:"compromise,omitempty"` // what the overflow policy gave in place of its own weights
}

// ToldRow is what a device tells of a prefix, export rules apart.
type ToldRow struct {
	Device     string   `json:"device"`
	Prefix     string   `json:"prefix"`
	Bottleneck *uint64  `json:"bottleneck_bps"` // nil = no value
	Told       *uint64  `json:"told_bps"`       // nil = no value
	Bytes      *float64 `json:"bytes_per_second"`
	Scope      string   `json:"scope"` // everywhere or down
	Warm       bool     `json:"warm"`
	ASPath     []uint32 `json:"as_path"` // before the device prepends its ASN
}

// SessionRow is a bundle and its session.
type SessionRow struct {
	Bundle      string   `json:"bundle"`
	A           string   `json:"a"`
	B           string   `json:"b"`
	Class       string   `json:"class"`
	Members     int      `json:"members"`
	FullMembers int      `json:"full_members"`
	Speed       uint64   `json:"member_bps"`
	Passed      uint64   `json:"passed_bps"`
	Trial       bool     `json:"on_trial"`
	Established bool     `json:"established"`
	EndedBy     string   `json:"ended_by,omitempty"` // device whose import.max-prefixes ended the session
	Unnoticed   bool     `json:"failed_unnoticed"`   // all members are lost, and the ends have not noticed
	Lost        float64  `json:"lost_unseen"`        // part of its traffic that is lost and no routing sees
	HeldFrom    []string `json:"held_from"`          // devices whose UPDATEs wait
}

// NewTable makes a table of a scene by its name.
func NewTable(name string, s *harness.Scene, want Filter) (*Table, error) {
	n := naming{s, s.Network.Topology}
	t := &Table{SceneHead: newSceneHead(s), member: n.t.SmallestSpeed()}
	switch name {
	case "sessions":
		t.Sessions = n.sessionRows(want)
		return t, nil
	case "rib":
		t.RIB = []RIBRow{}
		n.each(want, func(d, p int, r *state.Route) { t.RIB = append(t.RIB, n.ribRows(d, p, r)...) })
	case "fib":
		t.FIB = []FIBRow{}
		n.each(want, func(d, p int, r *state.Route) { t.FIB = append(t.FIB, n.fibRows(d, p, r)...) })
	case "told":
		t.Told = []ToldRow{}
		n.each(want, func(d, p int, r *state.Route) { t.Told = append(t.Told, n.toldRows(d, p, r)...) })
	default:
		return nil, fmt.Errorf("table %q: want one of %s", name, strings.Join(TableNames(), ", "))
	}
	return t, nil
}

// each calls f for every route that is wanted, in topology order.
func (n naming) each(want Filter, f func(d, p int, r *state.Route)) {
	for d := range n.scene.Snapshot.Devices {
		if want.Device >= 0 && d != want.Device {
			continue
		}
		for p := range n.t.Prefixes {
			if want.Prefix < 0 || p == want.Prefix {
				f(d, p, &n.scene.Snapshot.Devices[d].Routes[p])
			}
		}
	}
}

func (n naming) prefix(p int) string { return n.t.Prefixes[p].Prefix.String() }

func (n naming) ribRows(d, p int, r *state.Route) (rows []RIBRow) {
	row := RIBRow{Device: n.t.Devices[d].Name, Prefix: n.prefix(p), ASPath: []uint32{}}
	if r.Local {
		own := row
		own.Used = true
		rows = append(rows, own)
	}
	for _, c := range r.Candidates {
		entry := row
		entry.Neighbor, entry.Bundle = n.other(c.Bundle, d), n.bundle(c.Bundle)
		entry.ASPath, entry.Received = numbers(c.Path), received(c.Valued, c.Value)
		for _, m := range r.Set {
			if m.Bundle == c.Bundle {
				entry.Used, entry.Share = true, m.Share
			}
		}
		rows = append(rows, entry)
	}
	return rows
}

func (n naming) fibRows(d, p int, r *state.Route) []FIBRow {
	if len(r.FIB.Members) == 0 {
		return nil
	}
	row := FIBRow{Device: n.t.Devices[d].Name, Prefix: n.prefix(p), Group: r.FIB.Group, Error: Number(r.FIB.Error), Dropped: []string{}, Compromise: string(r.FIB.Compromise)}
	for _, w := range r.FIB.Members {
		row.Weights = append(row.Weights, HardwareWeight{n.other(w.ID, d), n.bundle(w.ID), w.Weight})
	}
	for _, id := range r.FIB.Dropped {
		row.Dropped = append(row.Dropped, n.bundle(id))
	}
	return []FIBRow{row}
}

func (n naming) toldRows(d, p int, r *state.Route) []ToldRow {
	if !r.Told.Present {
		return nil
	}
	row := ToldRow{Device: n.t.Devices[d].Name, Prefix: n.prefix(p), Scope: "everywhere", Warm: r.Told.Warm, ASPath: numbers(r.Told.Path)}
	if r.Told.Down {
		row.Scope = "down"
	}
	if r.Valued {
		row.Bottleneck = &r.Bottleneck
	}
	if r.Told.Valued {
		row.Told, row.Bytes = received(true, r.Told.Value), exact(r.Told.Value)
	}
	return []ToldRow{row}
}

func (n naming) sessionRows(want Filter) []SessionRow {
	rows := []SessionRow{}
	for b, ends := range n.scene.Network.Index.Ends {
		if want.Device >= 0 && ends[0] != want.Device && ends[1] != want.Device {
			continue
		}
		now, full := n.scene.Snapshot.Bundles[b], n.t.Bundles[b]
		rows = append(rows, SessionRow{
			Bundle: full.Name, A: full.A, B: full.B, Class: n.t.Devices[ends[0]].Role.String() + "-" + n.t.Devices[ends[1]].Role.String(),
			Members: now.Members, FullMembers: full.Members, Speed: full.Speed, Passed: now.Capacity, Trial: now.Trial, Established: now.Up,
			EndedBy: now.CeasedBy, Unnoticed: now.Unseen, Lost: now.Lost, HeldFrom: n.heldFrom(int32(b)),
		})
	}
	return rows
}

// JSON is the document, indented, with a line's end.
func (t *Table) JSON() ([]byte, error) {
	data, err := json.MarshalIndent(t, "", "  ")
	return append(data, '\n'), err
}

// Text is the table for a person: values in members of the topology's smallest
// speed, with bits/s in brackets.
func (t *Table) Text() string {
	var columns []column
	var rows [][]string
	switch {
	case t.RIB != nil:
		columns = []column{{head: "device"}, {head: "prefix"}, {head: "neighbour"}, {head: "AS_PATH"}, {head: "received"}, {head: "share"}}
		rows = t.ribText()
	case t.FIB != nil:
		columns = []column{{head: "device"}, {head: "prefix"}, {head: "group", right: true}, {head: "weights"}, {head: "error %", right: true}, {head: "dropped"}}
		rows = t.fibText()
	case t.Told != nil:
		columns = []column{{head: "device"}, {head: "prefix"}, {head: "bottleneck"}, {head: "told"}, {head: "scope"}, {head: "AS_PATH"}}
		rows = t.toldText()
	default:
		columns = []column{{head: "bundle"}, {head: "class"}, {head: "members", right: true}, {head: "damping passes"}, {head: "session"}}
		rows = t.sessionText()
	}
	text := t.SceneHead.text()
	if len(rows) == 0 {
		return strings.Map(printable, text+"no entries\n")
	}
	return strings.Map(printable, text+table(columns, rows))
}

func (t *Table) maybe(bits *uint64) string {
	if bits == nil {
		return "none"
	}
	return amount(*bits, t.member)
}

func (t *Table) ribText() (rows [][]string) {
	for _, r := range t.RIB {
		neighbor, received, share := r.Neighbor, t.maybe(r.Received), "-"
		switch {
		case neighbor == "":
			neighbor, received, share = "itself", "-", "own route"
		case r.Used && r.Share == 1: // no capacity is one bit/s
			share = "equal"
		case r.Used:
			share = amount(r.Share, t.member)
		}
		rows = append(rows, []string{r.Device, r.Prefix, neighbor, path(r.ASPath), received, share})
	}
	return rows
}

func (t *Table) fibText() (rows [][]string) {
	for _, r := range t.FIB {
		var weights []string
		for _, w := range r.Weights {
			weights = append(weights, fmt.Sprintf("%s %d", w.Neighbor, w.Weight))
		}
		group := strconv.Itoa(r.Group)
		if r.Group == 0 {
			group = "-"
		}
		text := strings.Join(weights, ", ")
		if r.Compromise != "" {
			text += " (" + r.Compromise + ")"
		}
		rows = append(rows, []string{r.Device, r.Prefix, group, text, percent(r.Error), dash(strings.Join(r.Dropped, " "))})
	}
	return rows
}

func (t *Table) toldText() (rows [][]string) {
	for _, r := range t.Told {
		scope := r.Scope
		if r.Warm {
			scope += ", warm"
		}
		rows = append(rows, []string{r.Device, r.Prefix, t.maybe(r.Bottleneck), t.maybe(r.Told), scope, path(r.ASPath)})
	}
	return rows
}

func (t *Table) sessionText() (rows [][]string) {
	for _, r := range t.Sessions {
		passed := amount(r.Passed, t.member)
		if r.Trial {
			passed += ", on trial"
		}
		rows = append(rows, []string{
			r.Bundle, r.Class, fmt.Sprintf("%d/%d", r.Members, r.FullMembers), passed, sessionState(r.Established, r.EndedBy, r.Unnoticed, r.Lost, r.HeldFrom),
		})
	}
	return rows
}
