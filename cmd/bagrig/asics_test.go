package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnknownASICsAreRefusedWhereTheyStand(t *testing.T) {
	const explicit, generated = "testdata/topo/asics.yaml", "testdata/topo/generate-asics.yaml"
	folder := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	inline := func(file, more string) string {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return "topology:\n  " + strings.ReplaceAll(strings.TrimSpace(string(data)), "\n", "\n  ") + "\n" + more
	}
	there, err := filepath.Abs(explicit)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"topo", "validate", explicit}, []string{
			`asics.yaml:3:47: field "devices[0].asic": value "abacus": unknown profile: want one of `,
			`asics.yaml:5:45: field "devices[2].asic": value "abakus": unknown profile: want one of `,
		}},
		{[]string{"topo", "validate", generated}, []string{
			`generate-asics.yaml:6:32: field "generate.fabrics[0].asics.edge": "abacus": unknown profile: want one of `,
			`generate-asics.yaml:10:16: field "generate.asics.bag": value "abakus": unknown profile: want one of `,
		}},
		{[]string{"validate", write("a.yaml", inline(explicit, ""))}, []string{
			`a.yaml:4:49: field "topology.devices[0].asic": value "abacus": unknown profile`,
			`a.yaml:6:47: field "topology.devices[2].asic": value "abakus": unknown profile`,
		}},
		// The profile of the spines is the scenario's own.
		{[]string{"validate", write("b.yaml", inline(explicit, "fib: {roles: {spine: {profile: tomahawk5}}}\n"))}, []string{
			`b.yaml:6:47: field "topology.devices[2].asic": value "abakus": unknown profile`,
		}},
		{[]string{"validate", write("c.yaml", "topology: {file: "+there+"}\n")}, []string{
			`asics.yaml:3:47: field "devices[0].asic": value "abacus": unknown profile`,
		}},
	} {
		got := bagrig(t, c.args...)
		if got.code != exitBad || got.stdout != "" {
			t.Errorf("%v: got exit status %d and on stdout %q, want %d and nothing", c.args, got.code, got.stdout, exitBad)
		}
		wantAll(t, strings.Join(c.args, " "), got.stderr, c.want...)
		if n := strings.Count(got.stderr, "unknown profile"); n < len(c.want) || n > 2 {
			t.Errorf("%v: got %d names refused, want %d", c.args, n, len(c.want))
		}
	}
	own := write("d.yaml", inline(explicit, "fib: {profile: tomahawk5}\n"))
	if got := bagrig(t, "validate", own); got.code != exitHeld {
		t.Errorf("a scenario that has a profile for all: got %s", got.stderr)
	}
}
