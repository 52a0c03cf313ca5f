package topologies

import "testing"

// plans counts the ASNs of each role of a shape with racks, hubs and backbone.
func TestPlansGiveEachRoleTheASNsThatTheySay(t *testing.T) {
	s := nsf()
	s.Joins, s.BagHub, s.Backbones, s.HubBackbone = []Join{{Mode: HubAndSpoke, Width: 3}}, Link{Members: 1}, 2, Link{Members: 1}
	for plan, want := range map[ASNPlan]PerRole[int]{
		PerGroup: {Rack: 8, Spine: 4, Bag: 2, Hub: 1, Backbone: 1},
		PerPlane: {Rack: 8, Spine: 8, Bag: 4, Hub: 3, Backbone: 2}, // 4 fabrics of 2 BAG planes
		Unique:   {Rack: 8, Spine: 16, Bag: 4, Hub: 3, Backbone: 2},
	} {
		s.ASN = plan
		top := generate(t, s)
		roles, owner := map[Role]map[uint32]bool{}, map[uint32]Role{}
		for _, d := range top.Devices {
			if roles[d.Role] == nil {
				roles[d.Role] = map[uint32]bool{}
			}
			roles[d.Role][d.ASN] = true
			if of, ok := owner[d.ASN]; ok && of != d.Role {
				t.Errorf("%v: a %v and a %v have ASN %d", plan, of, d.Role, d.ASN)
			}
			owner[d.ASN] = d.Role
			if d.ASN < 4_200_000_000 || d.ASN > 4_294_967_294 {
				t.Errorf("%v: device %q: got ASN %d, want a private one of 4 bytes", plan, d.Name, d.ASN)
			}
		}
		for role, asns := range roles {
			if len(asns) != want.Of(role) {
				t.Errorf("%v: %vs: got %d ASNs, want %d", plan, role, len(asns), want.Of(role))
			}
		}
	}
}

// Spines that own prefixes have numbers of the scheme while it has some.
func TestManySpinesHaveASNsOfTheirOwn(t *testing.T) {
	s := small()
	s.Spines, s.Fabrics = 40, 16
	seen := map[uint32]string{}
	for _, d := range generate(t, s).Devices {
		if d.Role != Spine {
			continue
		}
		if other, ok := seen[d.ASN]; ok {
			t.Fatalf("%q and %q share ASN %d", other, d.Name, d.ASN)
		}
		seen[d.ASN] = d.Name
	}
}
