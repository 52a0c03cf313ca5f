// Command bagrig runs a scenario on a network of real BGP speakers in this
// process and says what held: the thin shell around packages harness and
// properties, and nothing that a Go program could not do with them.
//
//	bagrig run first-light
//
// Exit status: 0 all held, 1 a property or threshold was violated or the
// network did not converge, 2 bad input or environment, 130 interrupted.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit statuses.
const (
	exitHeld        = 0
	exitViolated    = 1
	exitBad         = 2
	exitInterrupted = 130 // as shells have it for a program that Ctrl-C ended
)

func main() {
	// The first signal asks for an orderly stop. Signals then do what they
	// always do, so that the second one ends a process that does not stop.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(execute(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// ended is a command that did its work and has a status to end with.
type ended int

func (e ended) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// execute runs the command line: results to stdout, errors to stderr.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:               "bagrig",
		Short:             "Test rig and fuzzer for the routing control plane of a BAG network",
		Args:              cobra.NoArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(runCommand(), replayCommand(), shrinkCommand(), explainCommand(), showCommand(), fibCommand(), dampCommand(), sweepCommand(), conformCommand(), topoCommand(), validateCommand(), scenariosCommand(), versionCommand())
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var status ended
	switch {
	case err == nil:
		return exitHeld
	case errors.As(err, &status):
		return int(status)
	}
	// A list of mistakes has one on each line; each gets the command's name,
	// as compilers print theirs.
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintln(stderr, "bagrig:", strings.TrimRight(line, "\n"))
	}
	return exitBad
}
