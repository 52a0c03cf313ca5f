package topologies

import "fmt"

// Ports of one chassis and of one line card, counted in PortSpeed. 432 is
// published of a BAG chassis (Meta, Building Prometheus, 2026), and that a hub's
// is larger; its number, the same chassis for edges and backbone devices, and
// cards of 36 ports are ours. Of racks and spines nothing is assumed: a spine
// here may stand for a whole layer of switches.
const (
	chassisPorts   = 432
	hubPorts       = 576
	lineCardPorts  = 36
	fixedFormPorts = 128 // up to which a device is taken to have no line cards
)

// place fills in what failures have in common, in one deterministic manner that
// is ours: nothing of it is published. Racks, spines and edges stand in the hall
// of their building (named as the fabric, r1-f2), bags in two halls of their
// region by plane (r1-bag-a the odd ones, r1-bag-b the even), hubs and backbone
// devices in two of their own by number. Power domains are two a region, r1-a
// and r1-b, by plane for edges and bags and by number for spines and racks.
// Bundles between regions take one of two fibre routes by plane, r1-r2-a and
// r1-r2-b, and those to hubs r1-hub-a and r1-hub-b.
func (g *generator) place() {
	number := map[string]int{} // of the devices of a role in a fabric, or of all hubs
	region := make(map[string]*Device, len(g.t.Devices))
	for i := range g.t.Devices {
		d := &g.t.Devices[i]
		region[d.Name] = d
		d.Ports, d.LineCards = g.chassis(d.Role)
		n := d.Plane
		if n == 0 || d.Role == Spine {
			key := d.Fabric + "/" + d.Role.String()
			number[key]++
			n = number[key]
		}
		side := sideOf(n)
		switch {
		case d.Fabric != "":
			d.Hall, d.Power = d.Fabric, d.Region+"-"+side
		case d.Role == Bag:
			d.Hall, d.Power = d.Region+"-bag-"+side, d.Region+"-"+side
		default:
			d.Hall = fmt.Sprintf("%s-%s", d.Role, side)
			d.Power = d.Hall
		}
	}
	for i := range g.t.Bundles {
		b := &g.t.Bundles[i]
		lower, upper := region[b.A], region[b.B]
		switch {
		case lower.Role == Bag && upper.Role == Bag:
			b.Route = fmt.Sprintf("%s-%s-%s", lower.Region, upper.Region, sideOf(lower.Plane))
		case lower.Role == Bag && upper.Role > Bag:
			b.Route = fmt.Sprintf("%s-%s-%s", lower.Region, upper.Role, sideOf(lower.Plane))
		}
	}
}

// sideOf tells the two halves of a thing that alternates.
func sideOf(n int) string {
	if n%2 == 0 {
		return "b"
	}
	return "a"
}

// chassis gives the ports and line cards of one chassis of a role.
func (g *generator) chassis(role Role) (ports, cards int) {
	ports = g.Ports.Of(role)
	if ports == 0 {
		switch role {
		case Edge, Bag, Backbone:
			ports = chassisPorts
		case Hub:
			ports = hubPorts
		}
	}
	if ports > fixedFormPorts {
		cards = min((ports+lineCardPorts-1)/lineCardPorts, maxLineCards)
	}
	return ports, cards
}
