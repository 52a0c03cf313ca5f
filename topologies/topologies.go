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
// spines are the bottom of a BAG network and the backbone its top.
type Role uint8

// The roles, lowest tier first.
const (
	Spine    Role = iota + 1 // top of one building fabric
	Edge                     // a fabric's BAG-facing layer
	Bag                      // super-spine
	Hub                      // inter-BAG L4
	Backbone                 // wide-area backbone
)

var roleNames = [...]string{Spine: "spine", Edge: "edge", Bag: "bag", Hub: "hub", Backbone: "backbone"}

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
	Kind   string // the fabric's kind: dsf, nsf or fpf; empty above the edge layer
	Plane  int    // BAG plane, from 1; 0 for devices that belong to none
	ASN    uint32
	ASIC   string // name of a FIB profile, such as "jericho3"
	Units  int    // chassis this device stands for, at least 1
}

// Bundle is the set of parallel member links between two devices that carries
// one eBGP session.
type Bundle struct {
	Name    string // "a--b"; a second bundle of the pair is "a--b#2"
	A, B    string // device names; A has the lower tier, or comes first
	Members int    // member links at full health, 1 to 4096
	Speed   uint64 // bits/s of one member
	Length  int    // metres
}

// Capacity is the bundle's capacity in bits/s with the given members up.
func (b Bundle) Capacity(members int) uint64 { return uint64(members) * b.Speed }

// Prefix is an originated prefix. Several devices may originate one prefix.
type Prefix struct {
	Prefix    netip.Prefix
	Class     string   // "spine", "fabric" or "region" in generated networks
	Origins   []string // device names
	Bandwidth uint64   // bits/s told at the origin; 0 = the sum of the origin's bundles at full health
}

// Topology is a whole network.
type Topology struct {
	Name     string
	Devices  []Device
	Bundles  []Bundle
	Prefixes []Prefix
}
