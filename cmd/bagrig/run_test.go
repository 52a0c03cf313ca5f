package main

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/bagrig/bagrig/harness/live"
	"github.com/bagrig/bagrig/harness/state"
)

func TestStatusFollowsTheVerdictFirst(t *testing.T) {
	disk := errors.New("disk full")
	for _, c := range []struct {
		verdict state.Verdict
		err     error
		want    error
	}{
		{state.Held, nil, nil},
		{state.Held, disk, ended(exitBad)},
		{state.Violated, nil, ended(exitViolated)},
		{state.Violated, disk, ended(exitViolated)},
		{state.Failed, nil, ended(exitBad)},
		{state.Interrupted, disk, ended(exitInterrupted)},
	} {
		if got := status(c.verdict, c.err); got != c.want {
			t.Errorf("status(%s, %v): got %v, want %v", c.verdict, c.err, got, c.want)
		}
	}
}

func TestTheCommandThatRepeatsARunHoldsWhatMatters(t *testing.T) {
	usual := runFlags{out: defaultOut, engineFlags: engineFlags{port: live.DefaultPort}}
	for _, c := range []struct {
		program, name string
		flags         runFlags
		want          string
	}{
		{"bagrig", "first-light", usual, "bagrig run first-light --seed 1"},
		{"./bagrig", "my file.yaml", usual, "./bagrig run 'my file.yaml' --seed 1"},
		{"/tmp/go-build12/b001/exe/bagrig", "first-light", usual, "go run ./cmd/bagrig run first-light --seed 1"},
		{"bagrig", "x", runFlags{out: "o", json: true, engineFlags: engineFlags{port: 179}}, "bagrig run x --seed 1 --port 179 --out o"},
		{
			"bagrig", "x", runFlags{out: defaultOut, engineFlags: engineFlags{engine: "sim", schedule: "random", port: live.DefaultPort}},
			"bagrig run x --seed 1 --engine sim --schedule random",
		},
	} {
		if got := repeat(c.program, c.name, 1, c.flags); got != c.want {
			t.Errorf("repeat(%q, %q): got %q, want %q", c.program, c.name, got, c.want)
		}
	}
}

func TestAShellReadsAQuotedWordAsItWas(t *testing.T) {
	properties := gopter.NewProperties(nil)
	word := gen.SliceOf(gen.OneConstOf("a", "'", `"`, `\`, " ", "$HOME", "*", "\n", ";", "é", "-")).Map(func(parts []string) string {
		text := ""
		for _, p := range parts {
			text += p
		}
		return text
	})
	properties.Property("sh prints it back", prop.ForAll(func(w string) bool {
		out, err := exec.Command("sh", "-c", "printf %s. "+quote(w)).Output()
		return err == nil && string(out) == w+"."
	}, word))
	properties.TestingRun(t)
}
