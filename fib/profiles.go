package fib

// The files of facebook/fboss that the built-in profiles are read from.
const (
	fbossAsics      = "facebook/fboss fboss/agent/hw/switch_asics/"
	fbossAccountant = ", fboss/agent/ResourceAccountant.cpp"
)

// fboss returns a profile with FBOSS's rules for every ASIC. file is the one
// that has its limits: getMaxEcmpGroups, getMaxEcmpMembers and
// getMaxVariableWidthEcmpSize.
func fboss(name, file string, groups, members, width int) Profile {
	return Profile{
		Name: name, Groups: groups, Members: members, Width: width,
		Reserve: fbossReserve, Ceiling: fbossCeiling,
		Source: fbossAsics + file + fbossAccountant, Verified: true,
	}
}

// native sets what one member of a weighted group takes
// (computeWeightedEcmpMemberCount; chips that it does not list replicate).
func (p Profile) native(cost int) Profile {
	p.NativeCost = cost
	return p
}

// unverified marks a profile of which a number was not read where Source says.
func (p Profile) unverified() Profile {
	p.Verified = false
	return p
}

// tomahawk3 pads: a group of more than 128 entries takes exactly 512
// (getMaxVariableWidthEcmpSize 128, getMaxWideEcmpSize 512; FBOSS fills wide
// groups to the whole width, normalizeNextHopWeightsToMaxPaths).
func tomahawk3() Profile {
	p := fboss("tomahawk3", "Tomahawk3Asic.h", 2048, 64000, 512)
	p.Variable = 128
	return p
}

// jericho3 is the silicon family of BAG and edge chassis. Its 64 groups are
// the scarce resource: the limit is that of FBOSS's DSF use, and other
// network operating systems may carve the chip otherwise.
func jericho3() Profile {
	return fboss("jericho3", "Jericho3Asic.{h,cpp}", 64, 32768, 2048)
}

// jericho3Dual is the same chip in dual-stage 3Q2Q mode with a width of 2,048
// or more: 16 groups.
func jericho3Dual() Profile {
	p := jericho3()
	p.Name, p.Groups = "jericho3-16", 16
	return p
}

// saiP4 is what Google's SAI P4 program promises at least, and not the limit
// of a chip: groups, the sum of weights over all, and the largest group (an
// alternative promise, 12,228 members of weights up to 4,095, is not
// modelled). The promise says nothing of a reserve or a ceiling: Reserve is
// ours, so that one change has room.
func saiP4(name string, groups, members, width int) Profile {
	return Profile{
		Name: name, Groups: groups, Members: members, Width: width,
		Reserve: fbossReserve, Ceiling: 1,
		Source: "sonic-net/sonic-pins sai_p4/instantiations/google/minimum_guaranteed_sizes.h",
	}
}

// Profiles returns every built-in profile, sorted by name.
func Profiles() []Profile {
	return []Profile{
		// Width and groups of an NVIDIA Spectrum in FBOSS; its entries are
		// taken to be replicated, which the accountant does by default.
		fboss("chenab", "ChenabAsic.{h,cpp}", 4096, 64000, 512).unverified(),
		fboss("ebro", "EbroAsic.{h,cpp}", 4096, 32768, 512),
		// Two levels of 512 groups and 9,088 members; FBOSS's test of the
		// chip passed at 18,172. Native weights at no extra cost.
		fboss("g202x", "G202xAsic.h", 1024, 18172, 512).native(1).unverified(),
		// Groups and members are not published: FBOSS overrides neither.
		fboss("jericho2", "Jericho2Asic.h", NotPublished, NotPublished, 512),
		jericho3(),
		jericho3Dual(),
		// The source marks the limits as provisional.
		fboss("jericho4", "Jericho4Asic.{h,cpp}", 64, 32768, 2048).unverified(),
		fboss("p200", "P200Asic.{h,cpp}", 4096, 32768, 512),
		saiP4("sai-p4", 3968, 49152, 512),
		saiP4("sai-p4-tor", 960, 31296, 256),
		fboss("tomahawk", "TomahawkAsic.h", 895, 16000, 128),
		tomahawk3(),
		fboss("tomahawk4", "Tomahawk4Asic.h", 2048, 56000, 512).native(4),
		// The silicon of the building fabrics' spines.
		fboss("tomahawk5", "Tomahawk5Asic.{h,cpp}", 4096, 64000, 512).native(4),
		// A cost of 4 per member as on the two before; not every version of
		// the accountant lists this chip.
		fboss("tomahawk6", "Tomahawk6Asic.{h,cpp}", 4096, 128000, 512).native(4).unverified(),
	}
}
