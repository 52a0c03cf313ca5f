package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/topologies"
)

// A picture has a panel for each region, side by side, and in it a row of
// squares for each role, higher tiers above. Fabrics of a region that are the
// same but for their names are drawn once, as a stack; what is drawn of it
// stands for all of them.

// stack is one fabric, or several alike.
type stack struct {
	fabrics []string
	kind    string
	devices [][]int // of each fabric, in one order: the n-th of each are alike
	x, wide float64 // of the squares
}

// panel is one region.
type panel struct {
	region  string
	own     []int // devices above the fabrics
	stacks  []*stack
	x, wide float64
}

// square is a device that is drawn, and those like it that are not.
type square struct {
	device int
	alike  []int // of the other fabrics of its stack
	in     *stack
	of     *panel // nil for what belongs to no region
	x, y   float64
}

// line is a bundle that is drawn, and those like it that are not.
type line struct {
	bundle int
	a, b   *square
	alike  int // bundles it stands for beside itself
	lane   int // of several between one pair
}

// layout places everything.
type layout struct {
	t       *topologies.Topology
	x       *topologies.Index
	panels  []*panel
	shared  []int // hubs and backbone that belong to no region
	squares map[int]*square
	lines   []line
	rows    map[topologies.Role]float64
	pitch   float64
	wide    float64
	low     float64 // below the last row
}

// The measures of a picture, in its units.
const (
	margin     = 24.0
	labelWide  = 164.0 // the column beside squares that says what they are
	panelGap   = 22.0
	headHigh   = 64.0
	rowGap     = 104.0
	widePitch  = 27.0
	leastPitch = 9.0
)

func newLayout(t *topologies.Topology) *layout {
	l := &layout{t: t, x: t.Index(), squares: map[int]*square{}, rows: map[topologies.Role]float64{}}
	l.divide()
	for _, p := range l.panels {
		for _, d := range p.own {
			l.squares[d] = &square{device: d, of: p}
		}
		for _, s := range p.stacks {
			for k, d := range s.devices[0] {
				q := &square{device: d, of: p, in: s}
				for _, other := range s.devices[1:] {
					q.alike = append(q.alike, other[k])
				}
				l.squares[d] = q
			}
		}
	}
	for _, d := range l.shared {
		l.squares[d] = &square{device: d}
	}
	l.join()
	l.across()
	l.down()
	return l
}

// divide puts every device into a panel's own rows, a stack, or the shared rows.
func (l *layout) divide() {
	byRegion := map[string]*panel{}
	fabrics := map[*panel]map[string][]int{}
	order := map[*panel][]string{}
	for i := range l.t.Devices {
		d := &l.t.Devices[i]
		if d.Region == "" && d.Role >= topologies.Hub {
			l.shared = append(l.shared, i)
			continue
		}
		p := byRegion[d.Region]
		if p == nil {
			p = &panel{region: d.Region}
			byRegion[d.Region], fabrics[p] = p, map[string][]int{}
			l.panels = append(l.panels, p)
		}
		if d.Fabric == "" {
			p.own = append(p.own, i)
			continue
		}
		if fabrics[p][d.Fabric] == nil {
			order[p] = append(order[p], d.Fabric)
		}
		fabrics[p][d.Fabric] = append(fabrics[p][d.Fabric], i)
	}
	for _, p := range l.panels {
		alike := map[string]*stack{}
		for _, name := range order[p] {
			devices := l.sorted(fabrics[p][name])
			like := l.likeness(devices)
			s := alike[like]
			if s == nil {
				s = &stack{kind: l.t.Devices[devices[0]].Kind}
				alike[like] = s
				p.stacks = append(p.stacks, s)
			}
			s.fabrics, s.devices = append(s.fabrics, name), append(s.devices, devices)
		}
		p.own = l.sorted(p.own)
	}
	l.shared = l.sorted(l.shared)
}

// sorted has the devices by tier, the highest first, then by plane.
func (l *layout) sorted(devices []int) []int {
	slices.SortStableFunc(devices, func(i, j int) int {
		a, b := &l.t.Devices[i], &l.t.Devices[j]
		if a.Role != b.Role {
			return int(b.Role) - int(a.Role)
		}
		return a.Plane - b.Plane
	})
	return devices
}

// likeness is a text that two fabrics have in common when one picture does for
// both: the same devices, joined by the same bundles among themselves and to
// the same devices outside.
func (l *layout) likeness(devices []int) string {
	place := map[string]string{}
	var b strings.Builder
	for i, d := range devices {
		v := &l.t.Devices[d]
		place[v.Name] = fmt.Sprint(i)
		fmt.Fprintln(&b, v.Role, v.Kind, v.Plane, v.ASIC, v.Units, v.Ports, v.LineCards)
	}
	var bundles []string
	for i, d := range devices {
		for _, k := range l.x.Of[d] {
			u := &l.t.Bundles[k]
			ends := [2]string{u.A, u.B}
			for side, name := range ends {
				if local, ok := place[name]; ok {
					ends[side] = "#" + local
				}
			}
			bundles = append(bundles, fmt.Sprint(i, ends, u.Members, u.Speed, u.Length, u.Optic))
		}
	}
	slices.Sort(bundles)
	return b.String() + strings.Join(bundles, "\n")
}

// join makes the lines between what is drawn.
func (l *layout) join() {
	lanes := map[[2]*square]int{}
	for i := range l.t.Bundles {
		a, b := l.squares[l.x.Ends[i][0]], l.squares[l.x.Ends[i][1]]
		if a == nil || b == nil {
			continue // one like it is drawn
		}
		stands := len(a.alike) + 1
		if a.in != b.in {
			stands *= len(b.alike) + 1
		}
		pair := [2]*square{a, b}
		l.lines = append(l.lines, line{bundle: i, a: a, b: b, alike: stands - 1, lane: lanes[pair]})
		lanes[pair]++
	}
}

func (l *layout) role(q *square) topologies.Role { return l.t.Devices[q.device].Role }

// longest is the number of squares in the fullest row of these devices.
func (l *layout) longest(devices []int) (most int) {
	counts := map[topologies.Role]int{}
	for _, d := range devices {
		counts[l.t.Devices[d].Role]++
	}
	for _, n := range counts {
		most = max(most, n)
	}
	return most
}

// across places panels, stacks and squares from left to right.
func (l *layout) across() {
	most := 1
	for _, p := range l.panels {
		most = max(most, l.longest(p.own))
		for _, s := range p.stacks {
			most = max(most, l.longest(s.devices[0]))
		}
	}
	l.pitch = min(widePitch, max(leastPitch, 8*widePitch*1.5/float64(most)))
	x := margin
	for _, p := range l.panels {
		p.x = x
		own := float64(l.longest(p.own)) * l.pitch
		at := x
		for _, s := range p.stacks {
			s.wide = float64(l.longest(s.devices[0])) * l.pitch
			if len(p.stacks) == 1 {
				s.wide = max(s.wide, own)
			}
			s.wide = max(s.wide, 90) // its name stands under it
			s.x = at + labelWide
			at = s.x + s.wide + panelGap
		}
		left := x + labelWide
		right := max(at-panelGap, left+own)
		p.wide = right - x + 24
		l.row(p.own, left, right)
		for _, s := range p.stacks {
			l.row(s.devices[0], s.x, s.x+s.wide)
		}
		x += p.wide + panelGap
	}
	l.wide = max(x-panelGap+margin, 640)
	l.row(l.shared, margin+labelWide, l.wide-margin)
}

// row centres each role's squares between two edges.
func (l *layout) row(devices []int, left, right float64) {
	byRole := map[topologies.Role][]int{}
	for _, d := range devices {
		r := l.t.Devices[d].Role
		byRole[r] = append(byRole[r], d)
	}
	for _, list := range byRole {
		pitch := l.pitch
		if l.squares[list[0]].of == nil {
			pitch *= 2 // many lines end at what all regions share
		}
		pitch = min(pitch, (right-left)/float64(len(list)))
		from := (left+right)/2 - pitch*float64(len(list)-1)/2
		for i, d := range list {
			l.squares[d].x = from + pitch*float64(i)
		}
	}
}

// arcHeight is how high a line between two squares of one row rises.
func arcHeight(a, b *square) float64 {
	d := a.x - b.x
	if d < 0 {
		d = -d
	}
	return min(14+0.17*d, 420)
}

// down places the rows, with room above each for the arcs inside it.
func (l *layout) down() {
	arcs, there := map[topologies.Role]float64{}, map[topologies.Role]bool{}
	for _, q := range l.squares {
		there[l.role(q)] = true
	}
	for _, n := range l.lines {
		if r := l.role(n.a); r == l.role(n.b) {
			arcs[r] = max(arcs[r], arcHeight(n.a, n.b))
		}
	}
	y := headHigh
	for r := topologies.Backbone; r >= lowestRole; r-- {
		if !there[r] {
			continue
		}
		gap := rowGap
		if y == headHigh {
			gap = 40
		}
		if arcs[r] > 0 {
			gap = max(gap, arcs[r]+60)
		}
		y += gap
		l.rows[r] = y
	}
	for _, q := range l.squares {
		q.y = l.rows[l.role(q)]
	}
	l.low = y
}

// side is the width of a square.
func (l *layout) side() float64 { return min(17, l.pitch-2) }
