package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/harness"
)

func fibCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fib",
		Short: "Show what hardware makes of weights, without a network",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(fibProfilesCommand(), fibReduceCommand(), fibCompareCommand())
	return cmd
}

func fibProfilesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "profiles",
		Short: "List the hardware profiles with their limits and sources",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fib.WriteProfiles(cmd.OutOrStdout(), fib.Profiles())
		},
	}
}

const profileHelp = "a hardware profile: one that bagrig fib profiles lists, or a YAML `file`"

func fibReduceCommand() *cobra.Command {
	var profile, weights string
	cmd := &cobra.Command{
		Use:   "reduce --profile NAME|FILE --weights N,N,...",
		Short: "Show what every algorithm makes of one set of shares",
		Long: "Show what every algorithm makes of one set of shares, such as the member links of\nfour bundles, on one chip: weights (5x3 is three times 5), their total, the member\n" +
			"entries that they take, the worst overload and under-use of any member, how many\nmembers get none, and the error that the algorithm never exceeds for them.",
		Example: "  bagrig fib reduce --profile jericho3 --weights 100,100,100,75",
		Args:    cobra.NoArgs,
	}
	cmd.Flags().StringVar(&profile, "profile", "jericho3", profileHelp)
	cmd.Flags().StringVar(&weights, "weights", "", "shares: whole numbers with commas between; 100x3 is 100,100,100")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p, err := loadProfile(profile)
		if err != nil {
			return err
		}
		shares, err := parseShares(weights)
		if err != nil {
			return err
		}
		rows, err := fib.Compare(p, shares)
		if err != nil {
			return err
		}
		return fib.WriteRows(cmd.OutOrStdout(), rows)
	}
	return cmd
}

// loadProfile gives a built-in profile or reads a file.
func loadProfile(name string) (fib.Profile, error) {
	p, err := fib.Lookup(name)
	if err == nil {
		return p, nil
	}
	data, readErr := os.ReadFile(name)
	if errors.Is(readErr, os.ErrNotExist) {
		return p, fmt.Errorf("--profile %q: no such file, and %w", name, err)
	}
	if readErr != nil {
		return p, fmt.Errorf("--profile %q: %w", name, readErr)
	}
	return harness.ReadProfile(name, data)
}

// maxShares is how many shares one set may have: more than the widest group of
// any profile, so that dropping can be seen.
const maxShares = 1 << 14

// parseShares reads 100x3,75 as 100,100,100,75, which is how the tables print
// weights.
func parseShares(text string) ([]uint64, error) {
	if text == "" {
		return nil, errors.New("--weights is missing: want numbers with commas between, such as 100,100,100,75 or 100x3,75")
	}
	var shares []uint64
	for _, word := range strings.Split(text, ",") {
		number, times, repeated := strings.Cut(strings.TrimSpace(word), "x")
		share, err := strconv.ParseUint(number, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("--weights %q: %q: want whole numbers from 0 to %d", text, word, uint64(math.MaxUint64))
		}
		n := 1
		if repeated {
			if n, err = strconv.Atoi(times); err != nil || n < 1 || n > maxShares {
				return nil, fmt.Errorf("--weights %q: %q: want 1 to %d times", text, word, maxShares)
			}
		}
		if len(shares)+n > maxShares {
			return nil, fmt.Errorf("--weights: more than %d numbers", maxShares)
		}
		shares = append(shares, slices.Repeat([]uint64{share}, n)...)
	}
	return shares, nil
}

// compareFlags are the flags of `bagrig fib compare`.
type compareFlags struct {
	widths                     []string
	members, links, hurt, sets int
	seed                       uint64
	csv                        bool
}

func fibCompareCommand() *cobra.Command {
	flags := compareFlags{widths: []string{"64", "128", "512", "2048"}}
	cmd := &cobra.Command{
		Use:   "compare",
		Short: "Compare the algorithms over random degradations",
		Long: "Compare the algorithms over random degradations: bundles of which one, or all, lose\nup to half of their member links. For each algorithm and width: over the sets that\n" +
			"drop nothing, how many they are, their worst and mean two-sided error, worst overload,\nworst under-use and largest total; over all sets, the members dropped and the\ndistinct weight vectors, each of which takes a group.\n\n" +
			"Without --members it goes over 8, 32 and 64 bundles, as docs/fib.md shows them.",
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringSliceVar(&flags.widths, "widths", flags.widths, "the widths to reduce to")
	f.IntVar(&flags.members, "members", 0, "bundles in a set")
	f.IntVar(&flags.links, "links", 32, "member links of a whole bundle; with --members")
	f.IntVar(&flags.hurt, "hurt", 1, "bundles that lose members; with --members")
	f.IntVar(&flags.sets, "sets", 100, "sets to draw; with --members")
	f.Uint64Var(&flags.seed, "seed", 1, "seed of the draws; with --members")
	f.BoolVar(&flags.csv, "csv", false, "print CSV: errors are parts, 0.01 is 1 %")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		for _, name := range []string{"links", "hurt", "sets", "seed"} {
			if f.Changed(name) && !f.Changed("members") {
				return fmt.Errorf("--%s: only with --members", name)
			}
		}
		return flags.compare(cmd.OutOrStdout(), f.Changed("members"))
	}
	return cmd
}

func (c compareFlags) compare(w io.Writer, own bool) error {
	if len(c.widths) == 0 {
		return fmt.Errorf("--widths: want at least one, each 1 to %d", fib.MaxWidth)
	}
	var widths []int
	for _, text := range c.widths {
		width, err := strconv.Atoi(text)
		if err != nil || width < 1 || width > fib.MaxWidth {
			return fmt.Errorf("--widths %q: want 1 to %d", text, fib.MaxWidth)
		}
		widths = append(widths, width)
	}
	degradations := fib.Degradations()
	if own {
		d, err := c.degradation()
		if err != nil {
			return err
		}
		degradations = []fib.Degradation{d}
	}
	list, err := fib.Summarise(degradations, widths)
	if err != nil {
		return err
	}
	if c.csv {
		return fib.WriteCSV(w, list)
	}
	return writeSummaries(w, list)
}

// The ranges of `bagrig fib compare`: what is drawn fits memory and a coffee.
const (
	maxMembers = 1024
	maxLinks   = 4096
	maxSets    = 10000
)

func (c compareFlags) degradation() (fib.Degradation, error) {
	for _, flag := range []struct {
		name          string
		value, lo, hi int
	}{
		{"members", c.members, 1, maxMembers}, {"links", c.links, 1, maxLinks}, {"hurt", c.hurt, 0, c.members}, {"sets", c.sets, 1, maxSets},
	} {
		if flag.value < flag.lo || flag.value > flag.hi {
			return fib.Degradation{}, fmt.Errorf("--%s %d: want %d to %d", flag.name, flag.value, flag.lo, flag.hi)
		}
	}
	return fib.Degradation{
		Name: fmt.Sprintf("%d of %d", c.hurt, c.members), Members: c.members, Links: c.links, Hurt: c.hurt, Draws: c.sets, Seed: c.seed,
	}, nil
}

// writeSummaries writes a table for each degradation and width.
func writeSummaries(w io.Writer, list []fib.Summary) error {
	var b bytes.Buffer
	for i, s := range list {
		if i == 0 || s.Degradation != list[i-1].Degradation || s.Width != list[i-1].Width {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s bundles degraded, width %d\n%-20s %6s %9s %9s %9s %9s %6s %8s %7s\n", s.Degradation, s.Width,
				"algorithm", "sets", "worst", "mean", "overload", "under-use", "total", "dropped", "groups")
		}
		if s.Whole == 0 {
			fmt.Fprintf(&b, "%-20s %6d %9s %9s %9s %9s %6s %8d %7d\n", s.Algorithm, 0, "-", "-", "-", "-", "-", s.Dropped, s.Groups)
			continue
		}
		fmt.Fprintf(&b, "%-20s %6d %8.2f%% %8.2f%% %8.2f%% %8.2f%% %6d %8d %7d\n", s.Algorithm, s.Whole,
			100*s.Worst, 100*s.Mean, 100*s.Overload, 100*s.Underuse, s.Total, s.Dropped, s.Groups)
	}
	_, err := b.WriteTo(w)
	return err
}
