package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/sim"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

func replayCommand() *cobra.Command {
	var flags engineFlags
	var step bool
	cmd := &cobra.Command{
		Use:   "replay FILE",
		Short: "Play a fail file or a scenario and show it step by step",
		Long: "Play a fail file (see docs/fail-files.md), or a scenario as `bagrig run` takes it, and\nprint each event, change, count of messages and violation as they come. No run folder\nis written.\n\n" +
			"Exit status: as `bagrig run`: 0 all held, 1 a property or threshold was violated, the\nnetwork did not converge or two engines differ, 2 bad input or environment,\n130 interrupted.",
		Args: cobra.ExactArgs(1),
	}
	flags.add(cmd, true)
	cmd.Flags().BoolVar(&step, "step", false, "wait for Enter before every event; only on a terminal")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.check(true); err != nil {
			return err
		}
		sc, fail, err := loadFail(args[0])
		if err != nil {
			return err
		}
		apply := flags.apply
		if sc.Engine != harness.Both {
			apply = func(cmd *cobra.Command, sc *harness.Scenario) (sim.Schedule, error) {
				return flags.applyReplay(cmd, args[0], sc)
			}
		}
		schedule, err := apply(cmd, sc)
		if err != nil {
			return err
		}
		trace := newTrace(cmd.OutOrStdout(), sc)
		if step {
			if !interactive(cmd.InOrStdin()) {
				return errors.New("--step: standard input is no terminal: want one that Enter can be pressed on")
			}
			trace.wait = waitForEnter(cmd.Context(), cmd.InOrStdin(), cmd.ErrOrStderr())
		}
		return replayFail(cmd.Context(), sc, fail, schedule, int(flags.port), trace, cmd.ErrOrStderr())
	}
	return cmd
}

// loadFail reads a fail file, or whatever else loadRun takes; fail is nil then.
func loadFail(name string) (sc *harness.Scenario, fail *shrink.Fail, err error) {
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		data, err := yamltree.ReadFile(name)
		if err != nil {
			return nil, nil, err
		}
		if shrink.IsFail(data) {
			if fail, err = shrink.ReadFail(name, data); err != nil {
				return nil, nil, err
			}
			return fail.Scenario, fail, nil
		}
	}
	sc, err = loadRun(name)
	return sc, nil, err
}

func interactive(r io.Reader) bool {
	file, ok := r.(*os.File)
	return ok && isatty.IsTerminal(file.Fd())
}

// waitForEnter waits for one line, or the end of the context or of the input.
func waitForEnter(ctx context.Context, in io.Reader, prompt io.Writer) func() {
	lines := make(chan bool)
	next := make(chan bool)
	go func() { // it may wait for a key when the program ends: nothing else can end a read of a terminal
		for range next {
			err := error(nil)
			for one := []byte{0}; err == nil && one[0] != '\n'; {
				_, err = in.Read(one)
			}
			lines <- err == nil
			if err != nil {
				return
			}
		}
	}()
	more := true
	return func() {
		if !more {
			return
		}
		fmt.Fprint(prompt, "Enter: go on ")
		select {
		case next <- true:
		case <-ctx.Done():
			return
		}
		select {
		case more = <-lines:
		case <-ctx.Done():
		}
	}
}

// replayFail plays the scenario and prints how it came out beside what a fail
// file expects of it.
func replayFail(ctx context.Context, sc *harness.Scenario, fail *shrink.Fail, schedule sim.Schedule, port int, trace *trace, stderr io.Writer) error {
	if fail != nil {
		trace.line("%s, expected %s", fail.Property, fail.Expect)
	}
	opts := harness.RunOptions{Checks: checks(sc), Observer: trace, Schedule: schedule, Port: port}
	if sc.Engine == harness.Both {
		opts.SimChecks, opts.SimObserver = checks(sc), trace
	}
	res, runErr := harness.Run(ctx, sc, opts)
	trace.end(res)
	if fail != nil && ctx.Err() == nil && (runErr == nil || len(shrink.Failures(res, runErr)) > 0) {
		verdict := "as the file expects"
		err := fail.Judge(res, runErr)
		if errors.Is(err, shrink.ErrNotJudged) {
			return err
		}
		if err != nil {
			verdict = "not as the file expects: " + err.Error()
		}
		trace.line("%s", verdict)
	}
	if runErr != nil {
		fmt.Fprintf(stderr, "bagrig: %s: %v\n", res.Verdict, runErr)
	}
	return status(res.Verdict, trace.err)
}

// saidOfOne is how many violations of one property a trace shows.
const saidOfOne = 3

// trace is the observer that prints a run step by step.
type trace struct {
	out      io.Writer
	sc       *harness.Scenario
	wait     func()         // before an event; nil = go on
	counters state.Counters // at the last quiet
	shown    map[string]int // violations by property
	err      error          // the first of writing
}

var _ state.Observer = (*trace)(nil)

func newTrace(out io.Writer, sc *harness.Scenario) *trace {
	return &trace{out: out, sc: sc, shown: map[string]int{}}
}

func (t *trace) line(format string, args ...any) {
	_, err := fmt.Fprintf(t.out, format+"\n", args...)
	t.err = errors.Join(t.err, err)
}

// at prints what is said at a virtual time.
func (t *trace) at(r state.Record, format string, args ...any) {
	t.line("%10v  %s", r.Virtual.Round(time.Millisecond), fmt.Sprintf(format, args...))
}

// Progress implements state.Observer.
func (t *trace) Progress(string, int, int) {}

// Record implements state.Observer.
func (t *trace) Record(r state.Record) {
	switch r.Kind {
	case "start":
		t.shown = map[string]int{}
		t.line("%s on engine %s: %s", t.sc.Name, r.Result.Engine, r.Text)
	case "baseline":
		t.at(r, "baseline: %s, %s", r.Text, messages(*r.Counts))
		t.counters = *r.Counts
	case "event":
		if t.wait != nil {
			t.wait()
		}
		t.line("event %d of %d", r.Event+1, len(t.sc.Events))
		t.at(r, "%s", r.Text)
	case "change":
		t.at(r, "  %s", changeText(r))
	case "quiet":
		if sent := r.Counts.Sub(t.counters); sent.Updates > 0 {
			t.at(r, "  quiet after %s", messages(sent))
		}
		t.counters = *r.Counts
	case "settled":
		t.at(r, "settled: %s", rowText(r.Row))
	case "violation":
		t.violation(r)
	}
}

func messages(c state.Counters) string {
	return fmt.Sprintf("%d UPDATEs with %d announced and %d withdrawn prefixes", c.Updates, c.Announced, c.Withdrawn)
}

func changeText(r state.Record) string {
	switch {
	case r.Text == "":
		return fmt.Sprintf("%s: %d members", r.Bundle, r.Members)
	case r.Bundle == "":
		return r.Text
	}
	return r.Bundle + ": " + r.Text
}

// rowText says what an event did, and to whom it was told by hop distance.
func rowText(row *state.Row) string {
	text := fmt.Sprintf("event %d %s after %v: %d told values and %d sets of (device, prefix) changed; %s",
		row.Index+1, row.Effect, row.Settled.Round(time.Millisecond), row.Told, row.Sets, messages(row.Counters))
	var hops []string
	for hop, n := range row.Blast {
		if n > 0 {
			hops = append(hops, fmt.Sprintf("%d at hop %d", n, hop))
		}
	}
	if len(hops) == 0 {
		return text + ", to nobody"
	}
	return text + ", to " + strings.Join(hops, ", ")
}

func (t *trace) violation(r state.Record) {
	t.shown[r.Text]++
	switch v := r.Outcome.Violations[0]; {
	case t.shown[r.Text] <= saidOfOne:
		t.at(r, "VIOLATED %s: %s: %s", r.Text, v.Where, v.Text)
	case t.shown[r.Text] == saidOfOne+1:
		t.at(r, "VIOLATED %s again, and perhaps more often", r.Text)
	}
}

// end prints what is known only at the end.
func (t *trace) end(res *state.Result) {
	for _, o := range res.Outcomes {
		if o.Violated == 0 {
			continue
		}
		t.line("%s: violated %d times of %d", o.Name, o.Violated, o.Exercised)
		if t.shown[o.Name] == 0 && len(o.Violations) > 0 { // a threshold, which is judged at the end
			t.line("  %s: %s", o.Violations[0].Where, o.Violations[0].Text)
		}
	}
	if res.Agreement != nil && res.Agreement.Differences > 0 {
		t.line("%s", strings.TrimRight(res.Agreement.Text, "\n"))
	}
	t.line("verdict %s, %v of virtual time", res.Verdict, res.Virtual.Round(time.Millisecond))
}
