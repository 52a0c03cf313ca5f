package shrink

import (
	"bytes"
	"context"
	"fmt"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
)

// Kept is a failure that was shrunk and, unless there was an error, written.
type Kept struct {
	Fail   *Fail
	Result *Result
	Path   string // of the file; empty where no file can hold it
	Text   []byte // all of it, also where it could not be written
}

// Keep shrinks a failure and writes it below a folder of fail files. It looks
// for the failure on the engines in their order, since one may not show what the
// other does; want is what has to fail, or empty for whatever is violated first.
// The context is the budget. Kept is nil where nothing fails (ErrHolds) or the
// time was not enough to see it; where only writing failed it is there with the
// error, and its Text is to be shown.
func Keep(ctx context.Context, sc *harness.Scenario, checks Checks, want, dir string, engines ...string) (*Kept, error) {
	return keep(ctx, sc, checks, want, dir, report.WriteFile, engines...)
}

func keep(ctx context.Context, sc *harness.Scenario, checks Checks, want, dir string, write func(string, []byte) error, engines ...string) (*Kept, error) {
	on, failure, err := On(ctx, sc, checks, want, engines...)
	if err != nil {
		return nil, err
	}
	res, err := Shrink(ctx, on, Violates(checks, harness.RunOptions{}, failure), Options{Tries: Tries(on.Engine)})
	if err != nil {
		return nil, err
	}
	k := &Kept{Fail: NewFail(ctx, res, checks), Result: res}
	if k.Path, err = k.Fail.Place(dir); err != nil {
		k.Text = k.Fail.shown(err)
		return k, err
	}
	k.Fail.Command = "bagrig replay " + k.Path
	if k.Text, err = k.Fail.Text(); err != nil {
		return k, err
	}
	return k, k.Fail.write(k.Path, write)
}

// NewFail makes a fail of what shrinking left, with its story. That plays the
// scenario once more, even where the context has ended.
func NewFail(ctx context.Context, res *Result, checks Checks) *Fail {
	return &Fail{
		Property: res.Failure, Expect: Held, How: res.How(), Scenario: res.Scenario,
		Story: Story(context.WithoutCancel(ctx), res.Scenario, checks, res.Failure),
	}
}

// shown is what can be shown of a fail that no file can hold, and why.
func (f *Fail) shown(why error) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s# no file can hold it: %s\n%s", f.head(), oneLine(why.Error()), f.story())
	fmt.Fprintf(&b, "topology: %s\ndamping: %v\nevents:\n", f.Scenario.Topology.Summary(), planOf(f.Scenario).Default)
	for _, e := range f.Scenario.Events {
		fmt.Fprintf(&b, "  - %s\n", e.YAML())
	}
	return b.Bytes()
}

// Play runs a fail on its engine and tells what is not as the file expects.
func (f *Fail) Play(ctx context.Context, checks Checks) error {
	res, err := run(ctx, f.Scenario, checks, harness.RunOptions{})
	if err != nil && len(Failures(res, err)) == 0 {
		return err
	}
	return f.Judge(res, err)
}
