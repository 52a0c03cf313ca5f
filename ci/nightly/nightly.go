// Command nightly looks for failures for a given time: it runs every native fuzz
// target of the module, each alone and for a share of the time, and then the large
// suites in rounds, each with seeds of its own. What fails is kept as files that are
// ready to commit, and a page says what was done. docs/nightly.md describes it.
//
//	go run ./ci/nightly --minutes 60
//
// It judges nothing itself and knows no rule: targets and suites do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/bagrig/bagrig/properties"
)

// Exit statuses.
const (
	green       = 0
	found       = 1 // findings, or a state of behaviour that was never reached
	couldNotRun = 2 // also: cut short, with nothing found until then
)

func main() { os.Exit(command(os.Args[1:], os.Stdout, os.Stderr)) }

func command(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("nightly", flag.ContinueOnError)
	flags.SetOutput(stderr)
	minutes := flags.Float64("minutes", 60, "how long it takes in all, compiling included")
	out := flags.String("out", "", "folder for the results; default runs/nightly-TIME")
	seed := flags.Int64("seed", 0, "seed of the suites; 0 = a new one")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return green
		}
		return couldNotRun
	}
	refuse := func(err error) int {
		fmt.Fprintln(stderr, "nightly:", err)
		return couldNotRun
	}
	if flags.NArg() > 0 {
		return refuse(fmt.Errorf("argument %q: want none", flags.Arg(0)))
	}
	if !(*minutes > 0 && *minutes <= maxMinutes) {
		return refuse(fmt.Errorf("--minutes %v: want above 0 to %d", *minutes, maxMinutes))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	started := time.Now()
	budget := time.Duration(*minutes * float64(time.Minute))
	cfg := config{
		budget: budget, seed: *seed, suites: suites(budget), log: stdout,
		states: properties.StateNames(), tell: properties.ReachedFolder,
	}
	if cfg.seed == 0 {
		cfg.seed = rand.Int64N(1 << 53) // as a number of JSON holds it exactly
	}
	var err error
	if cfg.dir, err = moduleRoot(ctx); err != nil {
		return refuse(err)
	}
	if cfg.out = *out; cfg.out == "" {
		cfg.out = filepath.Join(cfg.dir, "runs", "nightly-"+started.Format("20060102-150405"))
	}
	if cfg.out, err = filepath.Abs(cfg.out); err != nil {
		return refuse(err)
	}
	status, err := run(ctx, cfg, started)
	if err != nil {
		return refuse(err)
	}
	return status
}

// maxMinutes bounds a night: four weeks.
const maxMinutes = 28 * 24 * 60

// config is what a night is made of.
type config struct {
	dir    string // root of the module
	out    string // folder of the results
	budget time.Duration
	seed   int64
	suites []suite
	states []string // states of behaviour that have to be reached; none = not judged
	tell   string   // environment variable that names the folder in which tests note them
	log    io.Writer

	cache  string        // Go's fuzz cache; empty = where go test has it
	shrink time.Duration // for one input; 0 = shrinkTime
	grace  time.Duration // least that a round of a suite takes to count as hanging; 0 = leastTimeout, or hangGrace at the end of the night
}

// run does the night, and returns its exit status. An error means that it could not
// begin, or that its results could not be written.
func run(ctx context.Context, cfg config, started time.Time) (int, error) {
	targets, err := discover(ctx, cfg.dir)
	if err != nil {
		return couldNotRun, err
	}
	n, err := newNight(ctx, cfg, started, targets)
	if err != nil {
		return couldNotRun, err
	}
	fmt.Fprint(cfg.log, n.plan())
	for _, p := range n.doc.Parts {
		if ctx.Err() != nil {
			break
		}
		n.part(ctx, p)
		if err := n.write(); err != nil {
			return couldNotRun, err
		}
	}
	n.end(ctx)
	if err := n.write(); err != nil {
		return couldNotRun, err
	}
	if n.doc.Advice != "" {
		fmt.Fprintf(cfg.log, "\n%s\n", n.doc.Advice)
	}
	fmt.Fprintf(cfg.log, "\n%s\nresults: %s\n", n.doc.headline(), filepath.Join(cfg.out, pageFile))
	return n.doc.Exit, nil
}

// night is a night under way.
type night struct {
	cfg      config
	doc      *document
	deadline time.Time
	binaries map[string]string // of fuzz targets, by package; empty = it could not be built
	cache    string            // Go's fuzz cache
	files    map[string]bool   // under testdata/fails and testdata/fuzz that were there before
}

func newNight(ctx context.Context, cfg config, started time.Time, targets []target) (*night, error) {
	if len(targets)+len(cfg.suites) == 0 {
		return nil, fmt.Errorf("%s: no fuzz target and no suite", cfg.dir)
	}
	n := &night{cfg: cfg, deadline: started.Add(cfg.budget), binaries: map[string]string{}, doc: &document{
		Schema: schema, Started: started.Format(time.RFC3339), Minutes: cfg.budget.Minutes(), Seed: cfg.seed, Verdict: running, Exit: couldNotRun,
	}}
	n.doc.Parts = planned(cfg, targets)
	for _, p := range n.doc.Parts {
		if p.Kind == kindFuzz && p.PlannedS < leastShare.Seconds() {
			return nil, fmt.Errorf("--minutes %.4g gives each of %d fuzz targets %.1f s, want %v or more: want --minutes %.0f",
				cfg.budget.Minutes(), len(targets), p.PlannedS, leastShare, cfg.budget.Minutes()*leastShare.Seconds()/p.PlannedS+1)
		}
	}
	switch left, err := os.ReadDir(cfg.out); {
	case err == nil && len(left) > 0:
		return nil, fmt.Errorf("--out %s: %q is in it: want a folder that is empty or not there, since what another night left would be counted again", cfg.out, left[0].Name())
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("--out: %w", err)
	}
	for _, name := range []string{"", logFolder, inputFolder, reachedFolder, binaryFolder} {
		if err := os.MkdirAll(filepath.Join(cfg.out, name), 0o777); err != nil {
			return nil, err
		}
	}
	var err error
	if n.doc.Go, err = ask(ctx, cfg.dir, "go", "env", "GOVERSION"); err != nil {
		return nil, err
	}
	n.doc.Commit, _ = ask(ctx, cfg.dir, "git", "rev-parse", "HEAD") // empty where it is no clone
	if n.cache = cfg.cache; n.cache == "" {
		cache, err := ask(ctx, cfg.dir, "go", "env", "GOCACHE")
		if err != nil {
			return nil, err
		}
		n.cache = filepath.Join(cache, "fuzz")
	}
	if n.files, err = keptFiles(cfg.dir); err != nil {
		return nil, err
	}
	return n, n.write()
}

// part runs one part in its share of what is left.
func (n *night) part(ctx context.Context, p *part) {
	started := time.Now()
	var binary string
	var err error
	if p.Kind == kindFuzz {
		binary, err = n.binary(ctx, p) // in the time of all, and not in that of the target
	}
	share, begun := n.share(p), time.Now()
	p.GivenS, p.Status = share.Seconds(), statusRunning
	fmt.Fprintf(n.cfg.log, "%s: %.0f s ... ", p.name(), share.Seconds())
	switch {
	case err != nil:
		p.stop(ctx, err)
	case share < time.Second:
		p.Status, p.Note, p.short = statusNotRun, "no time was left", tooShort
	case p.Kind == kindFuzz:
		n.fuzz(ctx, p, binary, begun.Add(share))
	default:
		n.suite(ctx, p, begun.Add(share))
	}
	p.TookS = time.Since(started).Seconds()
	fmt.Fprintf(n.cfg.log, "%s\n", strings.Join(strings.Fields(fmt.Sprint(p.Status, " ", p.did(), " ", p.Note)), " "))
}

// end judges the night.
func (n *night) end(ctx context.Context) {
	d := n.doc
	counts := map[status]int{}
	for _, p := range d.Parts {
		if p.Status == statusPlanned {
			p.Status, p.Note = statusNotRun, "the night was cut short"
		}
		counts[p.Status]++
	}
	cut := ctx.Err() != nil
	d.States = n.reached(cut)
	never := d.States != nil && len(d.States.Never) > 0
	d.TookS = time.Since(n.deadline.Add(-n.cfg.budget)).Seconds()
	switch {
	case len(d.Findings) > 0 || never && d.States.Judged:
		d.Verdict, d.Exit = "findings", found
	case cut:
		d.Verdict, d.Exit = "cut short", couldNotRun
	case counts[statusNotRun] > 0:
		d.Verdict, d.Exit = "could not run", couldNotRun
	default:
		d.Verdict, d.Exit = "green", green
	}
	d.CutShort = cut
	if !cut {
		d.Advice = advice(d)
	}
}

// tooShort is how many times as long a night should be in which a suite did not end its
// first round. How long that takes, nobody knows then.
const tooShort = 2

// advice says which parts had too little time, and how many minutes a night should have
// for them; empty = all had enough.
func advice(d *document) string {
	var parts []string
	times := 0.0
	for _, p := range d.Parts {
		if p.short > 0 {
			parts, times = append(parts, p.name()), max(times, p.short)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("not run for want of time: %s; want --minutes %.0f or more", strings.Join(parts, ", "), math.Ceil(min(times*d.Minutes, maxMinutes)))
}
