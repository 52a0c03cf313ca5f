package main

import (
	"fmt"
	"strings"
	"time"
)

// Shares of the time that is left once everything is compiled: half for the fuzz
// targets, equally, and half for the suites, by their weights.
const fuzzPart = 0.5

// leastShare is what a fuzz target must get: less than that it spends on starting.
const leastShare = 2 * time.Second

// reserve is what a night keeps for compiling, and for writing its results.
func reserve(budget time.Duration) time.Duration { return min(budget/5, 90*time.Second) }

// planned are the parts of a night, in the order in which they run.
func planned(cfg config, targets []target) (parts []*part) {
	all, sum := (cfg.budget - reserve(cfg.budget)).Seconds(), 0.0
	for _, s := range cfg.suites {
		sum += s.weight
	}
	fuzzing := fuzzPart
	if len(cfg.suites) == 0 {
		fuzzing = 1
	}
	for _, t := range targets {
		weight := fuzzing / float64(len(targets))
		parts = append(parts, &part{
			Kind: kindFuzz, Package: t.pkg, Target: t.name, Status: statusPlanned, PlannedS: weight * all, weight: weight, folder: t.dir,
		})
	}
	rest := 1 - fuzzing
	if len(targets) == 0 {
		rest = 1
	}
	for i, s := range cfg.suites {
		weight := rest * s.weight / sum
		parts = append(parts, &part{
			Kind: kindSuite, Package: s.pkg, Target: s.name, Status: statusPlanned, RoundsWanted: s.rounds, PlannedS: weight * all, weight: weight, suite: &cfg.suites[i],
		})
	}
	return parts
}

// share is what a part may take now: of what is left as much as the parts that are
// still to come leave it. So what one does not need goes to all after it.
func (n *night) share(p *part) time.Duration {
	sum := p.weight
	for _, q := range n.doc.Parts {
		if q.Status == statusPlanned && q != p {
			sum += q.weight
		}
	}
	left := time.Until(n.deadline) - reserve(n.cfg.budget)/10
	return time.Duration(float64(max(left, 0)) * p.weight / sum)
}

// plan is what is going to be done, for the beginning.
func (n *night) plan() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.4g minutes, seed %d, results in %s\nplan: %v for compiling and results", n.cfg.budget.Minutes(), n.cfg.seed, n.cfg.out, reserve(n.cfg.budget))
	targets := 0
	for _, p := range n.doc.Parts {
		if p.Kind == kindFuzz {
			targets++
		}
	}
	if targets > 0 {
		fmt.Fprintf(&b, "; %d fuzz targets, %.1f s each", targets, n.doc.Parts[0].PlannedS)
	}
	for _, p := range n.doc.Parts[targets:] {
		fmt.Fprintf(&b, "; %s %.0f s, up to %d rounds", p.Target, p.PlannedS, p.RoundsWanted)
	}
	fmt.Fprintf(&b, ".\nWhat a part does not need goes to those after it. Go's fuzz cache, kept between nights: %s\n\n", n.cache)
	return b.String()
}
