package fib

import (
	"fmt"
	"slices"
)

// Algorithm names a way to turn shares into integer weights.
type Algorithm string

// The algorithms, with what they do and their sources in Doc. Each is a pure
// function of shares and width.
const (
	Cumulus           Algorithm = "cumulus"
	CumulusNormalised Algorithm = "cumulus-normalised"
	Equal             Algorithm = "equal"
	FBOSSDefault      Algorithm = "fboss-default"
	FBOSSOptimized    Algorithm = "fboss-optimized"
	FBOSSWide         Algorithm = "fboss-wide"
	FRR10             Algorithm = "frr-10"
	FRR10Wide         Algorithm = "frr-10-16bit"
	FRR8              Algorithm = "frr-8"
	LargestRemainder  Algorithm = "largest-remainder"
	Minimax           Algorithm = "minimax"
	SONiC             Algorithm = "sonic"
	SONiC512          Algorithm = "sonic-512"
	WCMP              Algorithm = "wcmp"
	WCMPFit           Algorithm = "wcmp-fit"
)

// algorithm is one entry of the catalogue. weigh gives each of the kept shares,
// which are divided by their greatest common divisor, a weight, to a sum of 1
// to width; d describes the same shares. It is nil for those that Reduce calls
// itself because they allocate nothing.
type algorithm struct {
	name  Algorithm
	doc   string
	weigh func(d *demand, shares []uint64, width int) []int
}

// catalogue lists the algorithms, sorted by name. Nothing writes to it.
var catalogue = []algorithm{
	{Cumulus, "percent of the sum, 1 to 100, rounded down (Cumulus Linux documentation: the range; FRR 8: the rounding)",
		percent},
	{CumulusNormalised, "as cumulus, then at most 32 hardware entries (ecmp-weight-normalisation max-hw-weight; how it scales is not published: as fboss-default here)",
		percentOf32},
	{Equal, "weight 1 each, as a chip or a routing daemon without weights does; its bound is its error",
		nil},
	{FBOSSDefault, "scaled to the width and rounded down, at least 1, the largest lowered until it fits (facebook/fboss RouteNextHopEntry.cpp)",
		fbossDefault},
	{FBOSSOptimized, "scaled to the width and rounded up, then the most overloaded lowered until no overload is above 5 %; may drop paths (RouteNextHopEntry.cpp, optimized_ucmp)",
		fbossOptimized},
	{FBOSSWide, "fboss-default, and sums above 128 filled to exactly the width, the heaviest first (RouteNextHopEntry.cpp, wide_ecmp)",
		fbossWide},
	{FRR10, "the largest is 254, the others in proportion rounded down, at least 1 (FRR 10 zebra/zapi_msg.c with 8-bit weights; 254 as its kernel routes show)",
		largestIs(254)},
	{FRR10Wide, "the largest is 65,535, the others in proportion rounded down, at least 1 (FRR 10 zebra/zapi_msg.c with 16-bit weights)",
		largestIs(65535)},
	{FRR8, "percent of the sum, rounded down, at least 1 (FRR 8 bgpd/bgp_zebra.c, and its kernel routes)",
		percent},
	{LargestRemainder, "members below weight 1 get 1, the others share the rest by rounding down, then the largest remainders up",
		largestRemainder},
	{Minimax, "the least error over all totals up to the width, exactly; ties: smaller total, then least second-worst member and so on, then larger weight to the earlier",
		nil},
	{SONiC, "sum 255, rounded down, at least 1 (SONiC doc/wcmp/wcmp-design.md; the rounding is not published)",
		sumTo(255)},
	{SONiC512, "as sonic with sum 512 (sonic-buildimage 22796)",
		sumTo(512)},
	{WCMP, "the fewest steps up from equal weights until no overload is above 20 % (Zhou et al., EuroSys 2014, Algorithm 1, theta 1.2), else as wcmp-fit",
		wcmp},
	{WCMPFit, "scaled to the width and rounded down, at least 1, what is left handed out by least overload (the same paper's table fitting of one group)",
		wcmpFit},
}

// Algorithms returns every algorithm, sorted by name.
func Algorithms() []Algorithm {
	names := make([]Algorithm, len(catalogue))
	for i, a := range catalogue {
		names[i] = a.name
	}
	return names
}

// Doc says in a line what the algorithm does and where it comes from; empty
// for a name that Algorithms does not list.
func (a Algorithm) Doc() string {
	if i := a.index(); i >= 0 {
		return catalogue[i].doc
	}
	return ""
}

func (a Algorithm) index() int {
	return slices.IndexFunc(catalogue, func(t algorithm) bool { return t.name == a })
}

// Validate returns an ErrUnknownAlgorithm that lists the names there are,
// unless a is one of them.
func (a Algorithm) Validate() error {
	if a.index() < 0 {
		return fmt.Errorf("algorithm %q: %w: want one of %q", string(a), ErrUnknownAlgorithm, Algorithms())
	}
	return nil
}

// weigh fills in the weights that f gives the kept shares, divided by their
// greatest common divisor: hardware that takes the same split in fewer entries
// is the same split.
func (d *demand) weigh(weights []int, width int, f func(d *demand, shares []uint64, width int) []int) {
	divisor := d.divisor()
	at, shares := make([]int, 0, d.kept), make([]uint64, 0, d.kept)
	d.eachKept(func(i, _ int) {
		at = append(at, i)
		shares = append(shares, d.share(i)/divisor)
	})
	small := newDemand(shares, width, new(buffers))
	reduced := f(&small, shares, width)
	common := commonDivisor(reduced)
	for k, i := range at {
		weights[i] = reduced[k] / common
	}
}

func commonDivisor(weights []int) int {
	g := 0
	for _, w := range weights {
		for w != 0 {
			g, w = w, g%w
		}
	}
	return max(g, 1)
}

func sumOf(weights []int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	return sum
}
