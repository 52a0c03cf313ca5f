// Package topologies describes BAG networks: devices, the bundles that join
// them, the prefixes they originate, and generators that build whole networks
// from a few numbers. It holds no behaviour: no speaker, no time, no damping.
//
// The order of Topology.Devices is meaningful: router ids ascend in it, so it
// decides ties between equal candidates. The order of Topology.Bundles decides
// ties between several sessions of one pair of devices.
package topologies

import (
	"fmt"
	"net/netip"
)

// Role is what a device does in the network. A higher role is a higher tier:
// racks or spines are the bottom of a BAG network and the backbone its top.
type Role uint8

// The roles, lowest tier first. Their numbers are the tiers and mean nothing
// beyond their order: nothing stores them.
const (
	Rack     Role = iota + 1 // a building's rack switch; many descriptions leave this layer out
	Spine                    // top of one building fabric
	Edge                     // a fabric's BAG-facing layer
	Bag                      // super-spine
	Hub                      // inter-BAG L4
	Backbone                 // wide-area backbone
)

var roleNames = [...]string{Rack: "rack", Spine: "spine", Edge: "edge", Bag: "bag", Hub: "hub", Backbone: "backbone"}

func (r Role) String() string {
	if int(r) < len(roleNames) && roleNames[r] != "" {
		return roleNames[r]
	}
	return fmt.Sprintf("Role(%d)", uint8(r))
}

// ParseRole reads a role's name as String prints it.
func ParseRole(s string) (Role, bool) {
	for r, name := range roleNames {
		if name != "" && name == s {
			return Role(r), true
		}
	}
	return 0, false
}

// Device is one router, or several identical ones that act as one (Units).
type Device struct {
	Name   string
	Role   Role
	Region string // "r1"; empty where the device belongs to none
	Fabric string // "r1-f1"; empty above the edge layer
	Kind   string // the fabric's kind: dsf, nsf, fpf or zone; empty above the edge layer
	Plane  int    // BAG plane, from 1; 0 for devices that belong to none
	ASN    uint32
	ASIC   string // name of a FIB profile, such as "jericho3"
	Units  int    // chassis this device stands for, at least 1

	// What its failures have in common with those of others, and what its
	// members fit into. Empty and 0 say that nothing is known.
	Hall      string // data hall
	Power     string // power domain
	Ports     int    // ports of one chassis, counted as ports of PortSpeed
	LineCards int    // line cards of one chassis, over which its ports are striped
}

// Bundle is the set of parallel member links between two devices that carries
// one eBGP session.
type Bundle struct {
	Name    string // "a--b"; a second bundle of the pair is "a--b#2"
	A, B    string // device names; A has the lower tier, or comes first
	Members int    // member links at full health, 1 to 4096
	Speed   uint64 // bits/s of one member
	Length  int    // metres
	Route   string // fibre route; empty where none is known
	Optic   string // optic class; empty where none is stated
}

// Capacity is the bundle's capacity in bits/s with the given members up.
func (b Bundle) Capacity(members int) uint64 { return uint64(members) * b.Speed }

// Prefix is an originated prefix. Several devices may originate one prefix.
type Prefix struct {
	Prefix    netip.Prefix
	Class     string   // "rack", "spine", "fabric", "region" or "default" in generated networks
	Origins   []string // device names
	Bandwidth uint64   // bits/s told at the origin; 0 = the sum of the origin's bundles at full health
	Aggregate *Aggregate
}

// Aggregate makes a prefix an aggregate of its more-specifics: an origin
// announces it while enough of them, or enough capacity behind them, come to it
// from below. The value told is then the sum over the distinct bundles behind
// them, and Prefix.Bandwidth is not looked at.
type Aggregate struct {
	By       string // BySupporting or ByCapacity
	Announce uint64 // more-specifics, or bits/s: announced when this is reached
	Withdraw uint64 // withdrawn when the measure is below this; at most Announce
	Suppress bool   // the more-specifics are then told only down
}

// What an aggregate's thresholds are compared with.
const (
	BySupporting = "min-supporting"
	ByCapacity   = "min-capacity"
)

// Specifics lists the prefixes that are more specific than an aggregate, by
// their index.
func (t *Topology) Specifics(aggregate int) (list []int) {
	p := t.Prefixes[aggregate].Prefix
	for i, q := range t.Prefixes {
		if q.Prefix.Bits() > p.Bits() && p.Contains(q.Prefix.Addr()) {
			list = append(list, i)
		}
	}
	return list
}

// Topology is a whole network.
type Topology struct {
	Name     string
	Devices  []Device
	Bundles  []Bundle
	Prefixes []Prefix
}
