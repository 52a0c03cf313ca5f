package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// suite is tests that draw their cases, run in rounds with seeds of their own.
type suite struct {
	name   string
	pkg    string // as go test takes it
	run    string // -run
	env    []string
	rounds int // most of them; all of one size
	weight float64
	limit  time.Duration // a round that takes longer hangs
	least  time.Duration // a shorter night has no room for it
}

// suites are those of this module that a night of a budget has room for. Rounds of the
// agreement suite are of the size that go test has, so that ten are ten times that.
func suites(budget time.Duration) []suite {
	const limit = 20 * time.Minute
	all := []suite{
		{name: "agreement", pkg: "./properties", run: "EnginesAndOracle|EveryOrder|ToTheByte", rounds: 10, weight: 5, limit: limit},
		{name: "generated cases", pkg: "./properties", run: "GeneratedCases", env: []string{"BAGRIG_CASES=20000", "BAGRIG_ENGINE=sim"}, rounds: 1000, weight: 3, limit: limit},
		{name: "generated cases, real speakers", pkg: "./properties", run: "GeneratedCases", env: []string{"BAGRIG_CASES=100", "BAGRIG_ENGINE=gobgp"}, rounds: 1000, weight: 1, limit: limit},
		{name: "random events", pkg: "./properties", run: "RandomEvents", env: []string{"BAGRIG_CASES=60"}, rounds: 1000, weight: 1, limit: limit},
		{name: "corners", pkg: "./fuzz", run: "Corners", env: []string{"BAGRIG_CASES=40"}, rounds: 5, weight: 1, limit: limit},
		{name: "planted faults", pkg: "./properties", run: "PlantedFault", env: []string{"BAGRIG_LONG=1"}, rounds: 1, weight: 1, limit: limit},
		{name: "scenarios", pkg: "./properties", run: "EmbeddedScenarios|OnceBroke", rounds: 1, weight: 1, limit: limit},
		{name: "everything, long", pkg: "./properties", run: ".", env: []string{"BAGRIG_LONG=1"}, rounds: 1, weight: 10, limit: 2 * time.Hour, least: 2 * time.Hour},
	}
	return slices.DeleteFunc(all, func(s suite) bool { return budget < s.least })
}

// A round that takes hangTimes the longest one before it hangs. go test ends it then, but
// not before leastTimeout.
const (
	hangTimes    = 5
	leastTimeout = 2 * time.Minute
)

// timeout is how long go test lets a part's next round run.
func (n *night) timeout(p *part) time.Duration {
	if p.Rounds == 0 {
		return p.suite.limit
	}
	return min(p.suite.limit, max(hangTimes*p.longest, cmp.Or(n.cfg.grace, leastTimeout)).Round(time.Second))
}

// hung tells whether a round that had to be ended hangs, or else only had too little time.
func (n *night) hung(p *part, took time.Duration) bool {
	return p.Rounds > 0 && took >= max(hangTimes*p.longest, cmp.Or(n.cfg.grace, hangGrace))
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// repeat is the command that plays tests of a round again.
func (s *suite) repeat(seed int64, run string) string {
	env := append([]string{fmt.Sprintf("%s=%d", seedEnv, seed)}, s.env...)
	return fmt.Sprintf("%s go test %s -count=1 -run '%s'", strings.Join(env, " "), s.pkg, run)
}

// suite runs rounds of a suite until all are done or its time is over.
func (n *night) suite(ctx context.Context, p *part, deadline time.Time) {
	s := p.suite
	for p.Rounds < s.rounds && ctx.Err() == nil {
		left := time.Until(deadline)
		if left < time.Second || p.Rounds > 0 && p.longest > left {
			break
		}
		started := time.Now()
		seed := n.cfg.seed + int64(p.Rounds)
		timeout := n.timeout(p)
		until := n.deadline // a round that has begun is run to its end, if at all possible
		if p.Rounds > 0 {
			until = earlier(until, started.Add(timeout+hangGrace))
		}
		e, err := child{
			dir: n.cfg.dir, env: append(n.env(seed), s.env...), until: until, log: n.log(p.name()), quit: p.Rounds > 0,
			args: []string{"go", "test", "-json", "-count=1", "-timeout=" + timeout.String(), "-run=" + s.run, s.pkg},
		}.run(ctx)
		if err != nil {
			p.stop(ctx, err)
			return
		}
		r := readEvents(e.output)
		p.Tests += r.passed + len(r.failed)
		for _, f := range r.failed {
			p.Status = statusFailed
			n.find(p, f.text, s.repeat(seed, exactly(f.test)))
		}
		if took := time.Since(started); e.expired && n.hung(p, took) && ctx.Err() == nil && (r.running != "" || len(r.failed) == 0) {
			p.Status = statusFailed
			p.Note = "the rest not at all, since a round hung"
			n.find(p, fmt.Sprintf("it hangs: round %d not ended after %v, and the longest before took %v\n%s%s", p.Rounds+1, took.Round(time.Second), p.longest.Round(time.Second), r.running, r.rest), s.repeat(seed, s.run))
		}
		if ctx.Err() != nil || e.expired {
			break
		}
		if r.build != "" {
			p.stop(ctx, fmt.Errorf("it could not be compiled: %s", clip(r.build)))
			return
		}
		if e.code != 0 && len(r.failed) == 0 {
			p.Status = statusFailed
			n.find(p, r.rest, s.repeat(seed, s.run))
		}
		if r.passed+len(r.failed) == 0 && e.code == 0 {
			p.stop(ctx, fmt.Errorf("no test matches %q", s.run))
			return
		}
		p.Rounds++
		p.longest = max(p.longest, time.Since(started))
		if err := n.write(); err != nil {
			p.stop(ctx, err)
			return
		}
	}
	switch {
	case ctx.Err() != nil:
		p.stop(ctx, ctx.Err())
	case p.Rounds == 0 && p.Status != statusFailed:
		p.short = tooShort
		p.stop(ctx, errors.New("the time was not enough for one round"))
	default:
		p.pass()
		if p.Rounds < s.rounds && p.Note == "" {
			p.Note = "the rest for want of time"
		}
	}
}

// seedEnv is the variable that gives a suite its seed.
const seedEnv = "BAGRIG_SEED"

// env is what a part's children have in their environment.
func (n *night) env(seed int64) []string {
	env := []string{fmt.Sprintf("%s=%d", seedEnv, seed)}
	if n.cfg.tell != "" {
		env = append(env, n.cfg.tell+"="+n.path(reachedFolder))
	}
	return env
}

// results are what go test -json says.
type results struct {
	passed int
	failed []failedTest
	build  string // what the compiler says
	rest   string // what belongs to no test
	// running is what those tests said that have not ended, such as the stacks of
	// one that hangs.
	running string
}

type failedTest struct{ test, text string }

// readEvents reads the output of go test -json, as far as it is whole. Of a test and
// its subtests only those count that have no failed subtest. A test that was running when the output
// ended counts as neither, unless it panicked or hung, which go test reports as a failure.
func readEvents(output string) (r results) {
	text, failed, ended := map[string]*strings.Builder{}, []string{}, map[string]bool{}
	var build, rest strings.Builder
	for line := range strings.Lines(output) {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal([]byte(line), &e) != nil {
			rest.WriteString(line)
			continue
		}
		switch e.Action {
		case "pass", "fail", "skip":
			ended[e.Test] = true
		}
		switch e.Action {
		case "output":
			if e.Test == "" {
				rest.WriteString(e.Output)
				continue
			}
			if text[e.Test] == nil {
				text[e.Test] = &strings.Builder{}
			}
			text[e.Test].WriteString(e.Output)
		case "build-output":
			build.WriteString(e.Output)
		case "pass":
			if e.Test != "" {
				r.passed++
			}
		case "fail":
			if e.Test != "" {
				failed = append(failed, e.Test)
			}
		}
	}
	r.build, r.rest = build.String(), rest.String()
	for _, test := range slices.Sorted(maps.Keys(text)) {
		if !ended[test] && panics(text[test].String()) { // it hung, or took others with it
			failed = append(failed, test)
		}
	}
	for _, test := range slices.Sorted(maps.Keys(text)) {
		if !ended[test] {
			r.running += text[test].String()
		}
	}
	for _, test := range failed {
		if slices.ContainsFunc(failed, func(other string) bool { return strings.HasPrefix(other, test+"/") }) {
			continue
		}
		r.failed = append(r.failed, failedTest{test, saidOf(test, text, r.rest)})
	}
	return r
}

// panicText is how the Go runtime begins what it says of a panic, and go test what it says of a
// test that took too long.
const panicText = "panic: "

// panics tells whether a line begins so; a test may log the words within one.
func panics(text string) bool {
	return strings.HasPrefix(text, panicText) || strings.Contains(text, "\n"+panicText)
}

// saidOf is what a failed test said, and of a panic what go test puts down to those
// above it.
func saidOf(test string, text map[string]*strings.Builder, rest string) string {
	var said strings.Builder
	for name := test; ; name = name[:strings.LastIndex(name, "/")] {
		if b := text[name]; b != nil && (name == test || panics(b.String())) {
			said.WriteString(b.String())
		}
		if !strings.Contains(name, "/") {
			break
		}
	}
	if panics(rest) {
		said.WriteString(rest)
	}
	if said.Len() == 0 {
		return "it failed without a word"
	}
	return said.String()
}

// exactly is the -run that selects one test.
func exactly(test string) string {
	parts := strings.Split(test, "/")
	for i, p := range parts {
		parts[i] = "^" + strings.NewReplacer("\\", ".", "'", ".", "(", ".", ")", ".", "[", ".", "]", ".", "{", ".", "}", ".", "+", ".", "*", ".", "?", ".", "|", ".", "^", ".", "$", ".").Replace(p) + "$"
	}
	return strings.Join(parts, "/")
}
