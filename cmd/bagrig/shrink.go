package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/properties"
)

// defaultBudget is how long `bagrig shrink` looks.
const defaultBudget = time.Minute

type shrinkFlags struct {
	budget                time.Duration
	out, engine, property string
}

func shrinkCommand() *cobra.Command {
	var flags shrinkFlags
	cmd := &cobra.Command{
		Use:   "shrink FILE",
		Short: "Make a scenario that fails as small as it can be, and keep it",
		Long: "Look for a smaller scenario in which the same property is violated, and write it as a\nfail file. FILE is a fail file, an embedded scenario's name, a YAML file or a run folder.\n" +
			"It is tried on sim first, and on gobgp, where a run takes a second, if sim does not\nshow the failure. Ctrl-C keeps the smallest so far. See docs/shrinking.md.\n\n" +
			"Exit status: 0 the fail file is written, 2 nothing fails, bad input or environment,\n130 interrupted, with the smallest so far written.",
		Args: cobra.ExactArgs(1),
	}
	cmd.Flags().DurationVar(&flags.budget, "budget", defaultBudget, "how long to look")
	cmd.Flags().StringVarP(&flags.out, "out", "o", "", "the fail file to write (default FILE if it is one, else FILE's name with .fail.yaml)")
	cmd.Flags().StringVar(&flags.engine, "engine", "", "what runs the speakers: "+strings.Join(engines(true), ", ")+" (default sim, then gobgp)")
	cmd.Flags().StringVar(&flags.property, "property", "", "what has to fail (default the fail file's property, else the first that is violated)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := flags.check(); err != nil {
			return err
		}
		sc, fail, err := loadFail(args[0])
		if err != nil {
			return err
		}
		expect := shrink.Held
		if fail != nil {
			expect = fail.Expect
			if flags.property == "" {
				flags.property = fail.Property
			}
			if flags.out == "" {
				flags.out = args[0]
			}
		}
		if flags.out == "" {
			flags.out = strings.TrimSuffix(filepath.Base(args[0]), ".yaml") + ".fail.yaml"
		}
		if err := report.Replaceable(flags.out); err != nil && !errors.Is(err, syscall.ENOTDIR) { // before a minute is spent; what cannot be written then is printed
			return fmt.Errorf("--out %w", err)
		}
		return shrinkTo(cmd.Context(), sc, expect, flags, cmd.OutOrStdout(), cmd.ErrOrStderr())
	}
	return cmd
}

func (f shrinkFlags) check() error {
	switch {
	case f.budget <= 0:
		return fmt.Errorf("--budget %v: want more than 0s", f.budget)
	case f.engine != "" && !slices.Contains(engines(true), f.engine):
		return fmt.Errorf("--engine %q: want one of %s", f.engine, strings.Join(engines(true), ", "))
	}
	return nil
}

// engines are those on which the failure of a scenario is looked for. Both
// together are slow, and only they show that they differ.
func (f shrinkFlags) engines(sc *harness.Scenario) []string {
	switch {
	case f.engine != "":
		return []string{f.engine}
	case f.property == harness.EnginesAgreeName:
		return []string{harness.Both}
	case sc.Engine == harness.Both:
		return []string{harness.Sim, harness.GoBGP, harness.Both}
	}
	return []string{harness.Sim, harness.GoBGP}
}

func shrinkTo(ctx context.Context, sc *harness.Scenario, expect string, flags shrinkFlags, stdout, stderr io.Writer) error {
	within, stop := context.WithTimeout(ctx, flags.budget)
	defer stop()
	on, failure, err := shrink.On(within, sc, properties.For, flags.property, flags.engines(sc)...)
	if err != nil {
		return interruptedOr(ctx, tooShort(err, flags.budget), stderr)
	}
	fmt.Fprintf(stderr, "%s fails on %s: %v\n", failure, on.Engine, shrink.SizeOf(on))
	res, err := shrink.Shrink(within, on, shrink.Violates(properties.For, harness.RunOptions{}, failure), shrink.Options{
		Tries: shrink.Tries(on.Engine),
		Progress: func(s shrink.Step) {
			fmt.Fprintf(stderr, "try %d: %v: %s\n", s.Tries, s.Size, s.What)
		},
	})
	if err != nil {
		return interruptedOr(ctx, tooShort(err, flags.budget), stderr)
	}
	fail := shrink.NewFail(within, res, properties.For)
	fail.Expect, fail.Command = expect, "bagrig replay "+quote(flags.out)
	if err := fail.Write(flags.out); err != nil {
		// What was found must not be lost with the disk.
		if text, textErr := fail.Text(); textErr == nil {
			_, textErr = stdout.Write(text)
			err = errors.Join(err, textErr)
		}
		return err
	}
	if _, err := fmt.Fprintf(stdout, "%s\n%s\nwritten to %s\n", failure, res.How(), flags.out); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ended(exitInterrupted)
	}
	return nil
}

// tooShort says of a search that had no time to see the failure what to give it.
func tooShort(err error, budget time.Duration) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: --budget %v is not enough for one run", err, budget)
	}
	return err
}

// interruptedOr is the error, or the exit status of Ctrl-C before anything was seen.
func interruptedOr(ctx context.Context, err error, stderr io.Writer) error {
	if ctx.Err() == nil {
		return err
	}
	fmt.Fprintln(stderr, "bagrig: interrupted:", err)
	return ended(exitInterrupted)
}
