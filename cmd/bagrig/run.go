package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/capture"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/properties"
)

const (
	defaultScenario = "first-light"
	defaultOut      = "runs"
)

// maxSeed is the largest seed that a scenario may have.
const maxSeed = 1 << 62

// runFlags are the flags of `bagrig run`.
type runFlags struct {
	json bool
	out  string
	seed uint64
	dry  bool
	// external are devices that are no speakers of the rig, as state.ParseExternal reads them.
	external  []string
	mrt, pcap string
	engineFlags
}

// scenarioOf is the scenario's name or file that a command was given, or the
// default one.
func scenarioOf(args []string) string {
	if len(args) > 0 {
		return args[0]
	}
	return defaultScenario
}

func runCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [NAME|FILE]",
		Short: "Run a scenario and judge it",
		Long: "Run an embedded scenario (default " + defaultScenario + ", see `bagrig scenarios`) or a YAML file, and judge it.\n\n" +
			"Exit status: 0 all held, 1 a property or threshold was violated or the network\ndid not converge,\nor two engines differ, 2 bad input or environment, 130 interrupted.",
		Args: cobra.MaximumNArgs(1),
	}
	cmd.Flags().BoolVar(&flags.json, "json", false, "print run.json instead of the summary")
	cmd.Flags().StringVar(&flags.out, "out", defaultOut, "parent of the run folders")
	cmd.Flags().Uint64Var(&flags.seed, "seed", 0, "use this seed, not the scenario's. It draws the order of messages of --schedule random\nand is kept for suites; without that a run makes no random choice, and repeats with any seed")
	cmd.Flags().StringArrayVar(&flags.external, "external", nil, "put the BGP speaker at an address in the place of a device, as\nNAME=ADDRESS[,asn=N][,port=N][,neighbors=ADDRESS][,silence=2s][,passive]; may be\ngiven again. --dry-run shows what it must be configured with; see docs/interop.md")
	cmd.Flags().StringVar(&flags.mrt, "mrt", "", "write what the wires carry to this file as MRT, over what is there")
	cmd.Flags().StringVar(&flags.pcap, "pcap", "", "and as pcapng; not for sim, which has no wires")
	flags.add(cmd, true)
	cmd.Flags().BoolVar(&flags.dry, "dry-run", false, "start nothing: print what the scenario is and what a run of it takes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := scenarioOf(args)
		if err := flags.check(true); err != nil {
			return err
		}
		external, err := externals(flags.external)
		if err != nil {
			return err
		}
		sc, err := harness.LoadWith(name, external)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("seed") {
			if flags.seed < 1 || flags.seed > maxSeed {
				return fmt.Errorf("--seed %d: want 1 to %d", flags.seed, uint64(maxSeed))
			}
			sc.Seed = flags.seed
		}
		schedule, err := flags.apply(cmd, sc)
		if err != nil {
			return err
		}
		if len(sc.External) > 0 && sc.Engine != harness.GoBGP {
			return fmt.Errorf("engine %s: external devices: %w that could reach them: want --engine %s", sc.Engine, harness.ErrNoWires, harness.GoBGP)
		}
		if flags.dry {
			warn(cmd.ErrOrStderr(), name, sc.Topology)
			return dryRun(sc, cmd.OutOrStdout())
		}
		return run(cmd.Context(), sc, schedule, flags, repeat(os.Args[0], name, sc.Seed, flags), cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

// capture creates the files that were asked for; nil where none was.
func (f runFlags) capture(sc *harness.Scenario) (*capture.Writer, error) {
	flag, path := "--mrt", f.mrt
	if path == "" {
		flag, path = "--pcap", f.pcap
	}
	if path == "" {
		return nil, nil
	}
	if sc.Engine == harness.Sim {
		return nil, fmt.Errorf("%s %s: %w, so that there is nothing to capture: want --engine %s", flag, path, harness.ErrNoWires, harness.GoBGP)
	}
	return capture.Create(sc.Topology, f.mrt, f.pcap)
}

func closeTap(tap *capture.Writer) error {
	if tap == nil {
		return nil
	}
	return tap.Close()
}

// externals reads what --external was given.
func externals(texts []string) (map[string]state.External, error) {
	list := map[string]state.External{}
	for _, text := range texts {
		name, x, err := state.ParseExternal(text)
		if err != nil {
			return nil, fmt.Errorf("--external %w", err)
		}
		if _, ok := list[name]; ok {
			return nil, fmt.Errorf("--external %q: given twice", name)
		}
		list[name] = x
	}
	return list, nil
}

// run plays the scenario. It gives nil when all held, else ended with the
// status, or an error that nothing was printed of.
func run(ctx context.Context, sc *harness.Scenario, schedule sim.Schedule, flags runFlags, command string, stdout, stderr io.Writer) error {
	tap, err := flags.capture(sc)
	if err != nil {
		return err
	}
	about := report.About{Scenario: sc, Started: time.Now(), Version: version(), Command: command, Schedule: schedule.Mode}
	folder, err := report.CreateIn(flags.out, about)
	if err != nil {
		return errors.Join(err, closeTap(tap))
	}
	crashErr := folder.CatchCrash()
	progress := newProgress(stderr, sc)
	judged := properties.InSchedule(checks(sc), schedule.Mode)
	if left := len(checks(sc)) - len(judged); left > 0 {
		fmt.Fprintf(stderr, "bagrig: %q is not judged in schedule %s: it holds of rounds alone\n", properties.ContainmentName, schedule.Mode)
	}
	if schedule.Mode == sim.Timed {
		judged = append(judged, properties.NewTransients(-1))
	}
	judged = append(judged, properties.NewCoverage())
	opts := harness.RunOptions{Checks: judged, Observer: observers{folder, progress}, Port: int(flags.port), Schedule: schedule}
	var beside *report.Folder
	if sc.Engine == harness.Both {
		about.Scenario = sc.On(harness.Sim)
		if beside, err = report.Create(filepath.Join(folder.Dir(), report.SimFolder), about); err != nil {
			return errors.Join(err, closeTap(tap))
		}
		opts.Checks, opts.SimChecks, opts.SimObserver = append(checks(sc), properties.NewCoverage()), judged, observers{beside, progress}
	}
	if tap != nil {
		opts.Capture = tap
	}
	res, runErr := harness.Run(ctx, sc, opts)
	progress.close()
	crashErr = errors.Join(crashErr, closeTap(tap))
	if beside != nil {
		crashErr = errors.Join(crashErr, beside.Finish(res.Agreement.Sim))
	}
	err = errors.Join(crashErr, folder.Finish(res), show(stdout, folder.Document(res), flags.json))
	if err != nil {
		fmt.Fprintln(stderr, "bagrig:", err)
	}
	if runErr != nil {
		fmt.Fprintf(stderr, "bagrig: %s: %v\n", res.Verdict, runErr)
	}
	return status(res.Verdict, err)
}

// status is the exit status for a verdict; err is what went wrong in writing it
// down, which counts only where the run itself was good.
func status(v state.Verdict, err error) error {
	switch {
	case v == state.Interrupted:
		return ended(exitInterrupted)
	case v == state.Violated:
		return ended(exitViolated)
	case v != state.Held || err != nil:
		return ended(exitBad)
	}
	return nil
}

func show(w io.Writer, doc *report.Document, asJSON bool) error {
	text := []byte(doc.SummaryIn(columns(w)))
	if asJSON {
		var err error
		if text, err = doc.JSON(); err != nil {
			return err
		}
	}
	_, err := io.Copy(w, bytes.NewReader(text))
	return err
}

// repeat is the command line that runs the same again.
func repeat(program, name string, seed uint64, flags runFlags) string {
	words := []string{quote(program)}
	if strings.Contains(filepath.ToSlash(program), "/go-build") { // where `go run` puts the binary, and removes it
		words = []string{"go", "run", "./cmd/bagrig"}
	}
	words = append(words, "run", quote(name), "--seed", strconv.FormatUint(seed, 10))
	words = append(words, flags.words()...)
	if flags.mrt != "" {
		words = append(words, "--mrt", quote(flags.mrt))
	}
	if flags.pcap != "" {
		words = append(words, "--pcap", quote(flags.pcap))
	}
	for _, x := range flags.external {
		words = append(words, "--external", quote(x))
	}
	if flags.out != defaultOut {
		words = append(words, "--out", quote(flags.out))
	}
	return strings.Join(words, " ")
}

// quote makes one word of a POSIX shell.
func quote(word string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("-_./:,+@%", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// observers hear of a run one after another.
type observers []state.Observer

func (o observers) Progress(stage string, done, total int) {
	for _, x := range o {
		x.Progress(stage, done, total)
	}
}

func (o observers) Record(r state.Record) {
	for _, x := range o {
		x.Record(r)
	}
}
