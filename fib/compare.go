package fib

import (
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Row is what one algorithm makes of some shares.
type Row struct {
	Algorithm Algorithm
	Reduction Reduction
	Total     int     // sum of the weights
	Cost      int     // member entries on the profile
	Overload  float64 // max r - 1 of any member
	Underuse  float64 // max 1/r - 1 of any member; +Inf if one was dropped
	Bound     float64 // as Profile.Bound has it
}

// Compare reduces the shares with every algorithm for the chip, in the order
// of Algorithms. It fails as Reduce does.
func Compare(p Profile, shares []uint64) ([]Row, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	var rows []Row
	for _, alg := range Algorithms() {
		red, err := p.Reduce(alg, shares)
		if err != nil {
			return nil, err
		}
		rows = append(rows, rowOf(p, alg, shares, red))
	}
	return rows, nil
}

func rowOf(p Profile, alg Algorithm, shares []uint64, red Reduction) Row {
	row := Row{Algorithm: alg, Reduction: red, Total: sumOf(red.Weights), Bound: p.Bound(alg, shares)}
	_, members := hopsOf(shares, red.Weights)
	row.Cost = p.MemberCost(members)
	row.Overload, row.Underuse = sides(shares, red.Weights)
	return row
}

// hopsOf numbers the members by their place.
func hopsOf(shares []uint64, weights []int) (hops []Hop, members []Weighted) {
	for i, w := range weights {
		hops = append(hops, Hop{int32(i), shares[i]})
		if w > 0 {
			members = append(members, Weighted{int32(i), w})
		}
	}
	return hops, members
}

// sides is the worst overload and under-use of a vector.
func sides(shares []uint64, weights []int) (overload, underuse float64) {
	overload, underuse, _ = (&Table{}).distance(hopsOf(shares, weights))
	return overload, underuse
}

// WriteRows writes rows as a text table.
func WriteRows(w io.Writer, rows []Row) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "algorithm\tweights\ttotal\tentries\toverload\tunder-use\tdropped\tbound")
	for _, r := range rows {
		fmt.Fprintf(tw, "%s\t%s\t%d\t%d\t%s\t%s\t%d\t%s\n", r.Algorithm, weightsText(r.Reduction.Weights),
			r.Total, r.Cost, percentText(r.Overload), percentText(r.Underuse), len(r.Reduction.Dropped), percentText(r.Bound))
	}
	return tw.Flush()
}

// weightsText writes runs of equal weights as weight x times.
func weightsText(weights []int) string {
	var runs []string
	for i := 0; i < len(weights); {
		j := i
		for j < len(weights) && weights[j] == weights[i] {
			j++
		}
		run := strconv.Itoa(weights[i])
		if j-i > 1 {
			run += "x" + strconv.Itoa(j-i)
		}
		runs, i = append(runs, run), j
	}
	return strings.Join(runs, ",")
}

// Degradation is a kind of damage to bundles: a distribution of shares.
type Degradation struct {
	Name    string
	Members int // bundles in a set
	Links   int // member links of a whole bundle
	Hurt    int // bundles that lose members
	Draws   int // sets drawn
	Seed    uint64
}

// Degradations returns the kinds that the comparison runs over: one bundle
// that loses up to half of its members, and all bundles that do.
func Degradations() []Degradation {
	var list []Degradation
	for _, members := range []int{8, 32, 64} {
		list = append(list,
			Degradation{fmt.Sprintf("one of %d", members), members, 32, 1, 100, uint64(members)},
			Degradation{fmt.Sprintf("all of %d", members), members, 32, members, 100, uint64(100 + members)})
	}
	return list
}

// Sets returns the draws: per set the member links that are left of each
// bundle, half of Links to all.
func (d Degradation) Sets() [][]uint64 {
	draw := rand.New(rand.NewPCG(d.Seed, 0))
	sets := make([][]uint64, d.Draws)
	for i := range sets {
		set := slices.Repeat([]uint64{uint64(d.Links)}, d.Members)
		for _, at := range draw.Perm(d.Members)[:d.Hurt] {
			set[at] -= draw.Uint64N(uint64(d.Links)/2 + 1)
		}
		sets[i] = set
	}
	return sets
}

// Summary is how one algorithm does over a distribution at a width.
type Summary struct {
	Degradation string
	Width       int
	Algorithm   Algorithm
	Whole       int     // sets that drop nothing, of which are the figures up to Total
	Worst       float64 // largest two-sided error
	Mean        float64 // mean of them
	Overload    float64 // largest overload of a member, max r - 1
	Underuse    float64 // largest under-use of a member, max 1/r - 1
	Total       int     // largest sum of weights
	Dropped     int     // members dropped, over all sets
	Groups      int     // distinct weight vectors of the sets
}

// Summarise runs every algorithm over the distributions at the widths, on a
// chip that replicates. It fails for a width outside 1 to MaxWidth or a set
// without members.
func Summarise(degradations []Degradation, widths []int) ([]Summary, error) {
	var list []Summary
	for _, d := range degradations {
		sets := d.Sets()
		for _, width := range widths {
			for _, alg := range Algorithms() {
				s := Summary{Degradation: d.Name, Width: width, Algorithm: alg}
				if err := s.run(sets); err != nil {
					return nil, err
				}
				list = append(list, s)
			}
		}
	}
	return list, nil
}

func (s *Summary) run(sets [][]uint64) error {
	vectors := map[string]bool{}
	for _, shares := range sets {
		red, err := Reduce(s.Algorithm, shares, s.Width)
		if err != nil {
			return fmt.Errorf("degradation %q: %w", s.Degradation, err)
		}
		vectors[fmt.Sprint(red.Weights)] = true
		if s.Dropped += len(red.Dropped); len(red.Dropped) > 0 {
			continue
		}
		overload, underuse := sides(shares, red.Weights)
		s.Whole++
		s.Worst, s.Overload, s.Underuse = max(s.Worst, red.Error), max(s.Overload, overload), max(s.Underuse, underuse)
		s.Total = max(s.Total, sumOf(red.Weights))
		s.Mean += red.Error
	}
	if s.Whole > 0 {
		s.Mean /= float64(s.Whole)
	}
	s.Groups = len(vectors)
	return nil
}

// WriteCSV writes summaries as CSV; errors are parts, 0.01 is 1 %, and empty
// where every set dropped a member.
func WriteCSV(w io.Writer, list []Summary) error {
	c := csv.NewWriter(w)
	records := [][]string{{"degradation", "width", "algorithm", "sets", "worst", "mean", "overload", "underuse", "total", "dropped", "groups"}}
	for _, s := range list {
		part := func(f float64) string {
			if s.Whole == 0 {
				return ""
			}
			return strconv.FormatFloat(f, 'g', 6, 64)
		}
		records = append(records, []string{
			s.Degradation, strconv.Itoa(s.Width), string(s.Algorithm), strconv.Itoa(s.Whole),
			part(s.Worst), part(s.Mean), part(s.Overload), part(s.Underuse), strconv.Itoa(s.Total),
			strconv.Itoa(s.Dropped), strconv.Itoa(s.Groups),
		})
	}
	return c.WriteAll(records)
}

// WriteMarkdown writes summaries as a Markdown table per degradation, with a
// cell of worst / mean error in percent, members dropped and groups for every
// algorithm and width.
func WriteMarkdown(w io.Writer, list []Summary) error {
	var b strings.Builder
	for start := 0; start < len(list); {
		end := start
		var widths []int
		cells := map[Algorithm]map[int]Summary{}
		for ; end < len(list) && list[end].Degradation == list[start].Degradation; end++ {
			s := list[end]
			if !slices.Contains(widths, s.Width) {
				widths = append(widths, s.Width)
			}
			if cells[s.Algorithm] == nil {
				cells[s.Algorithm] = map[int]Summary{}
			}
			cells[s.Algorithm][s.Width] = s
		}
		writeDegradation(&b, list[start].Degradation, widths, cells)
		start = end
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeDegradation(b *strings.Builder, name string, widths []int, cells map[Algorithm]map[int]Summary) {
	fmt.Fprintf(b, "\n| %s |", name)
	for _, width := range widths {
		fmt.Fprintf(b, " width %d |", width)
	}
	fmt.Fprintf(b, "\n|---|%s\n", strings.Repeat("---|", len(widths)))
	for _, alg := range Algorithms() {
		fmt.Fprintf(b, "| `%s` |", alg)
		for _, width := range widths {
			fmt.Fprintf(b, " %s |", cells[alg][width].cell())
		}
		b.WriteByte('\n')
	}
}

func (s Summary) cell() string {
	text := fmt.Sprintf("%.2f / %.2f, %d", 100*s.Worst, 100*s.Mean, s.Groups)
	if s.Whole == 0 {
		text = fmt.Sprintf("- / -, %d", s.Groups)
	}
	if s.Dropped > 0 {
		text += fmt.Sprintf(", **%d dropped**", s.Dropped)
	}
	return text
}

// WriteProfiles writes profiles as a text table.
func WriteProfiles(w io.Writer, profiles []Profile) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "profile\tgroups\tsteady\tmembers\tsteady\twidth\tup to\ta weighted group takes\treserve\tno room for both\tverified\tsource")
	for _, p := range profiles {
		variable, verified, full := "any", "no", "keeps the old"
		if p.Variable > 0 {
			variable = strconv.Itoa(p.Variable) + ", then " + strconv.Itoa(p.Width)
		}
		if p.Verified {
			verified = "yes"
		}
		if p.BreakFirst {
			full = "breaks first"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\t%d\t%s\t%s\t%s\n", p.Name,
			limitText(p.GroupLimit()), limitText(p.SteadyGroups()), limitText(p.MemberLimit()), limitText(p.SteadyMembers()),
			p.Width, variable, p.costText(), p.Reserve, full, verified, p.Source)
	}
	return tw.Flush()
}

func (p Profile) costText() string {
	switch {
	case p.Unweighted:
		return "has no weights"
	case p.NativeCost > 0:
		return strconv.Itoa(p.NativeCost) + " per member"
	}
	return "its sum of weights"
}
