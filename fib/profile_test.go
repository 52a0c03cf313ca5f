package fib_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/fib"
)

func mustLookup(t testing.TB, name string) fib.Profile {
	t.Helper()
	p, err := fib.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestProfilesHaveThePublishedLimits(t *testing.T) {
	unknown := fib.NotPublished
	want := []fib.Profile{
		{Name: "chenab", Groups: 4096, Members: 64000, Width: 512, Reserve: 2, Ceiling: 0.75},
		{Name: "ebro", Groups: 4096, Members: 32768, Width: 512, Reserve: 2, Ceiling: 0.75, Verified: true},
		{Name: "g202x", Groups: 1024, Members: 18172, Width: 512, NativeCost: 1, Reserve: 2, Ceiling: 0.75},
		{Name: "jericho2", Groups: unknown, Members: unknown, Width: 512, Reserve: 2, Ceiling: 0.75, Verified: true},
		{Name: "jericho3", Groups: 64, Members: 32768, Width: 2048, Reserve: 2, Ceiling: 0.75, Verified: true},
		{Name: "jericho3-16", Groups: 16, Members: 32768, Width: 2048, Reserve: 2, Ceiling: 0.75, Verified: true},
		{Name: "jericho4", Groups: 64, Members: 32768, Width: 2048, Reserve: 2, Ceiling: 0.75},
		{Name: "p200", Groups: 4096, Members: 32768, Width: 512, Reserve: 2, Ceiling: 0.75, Verified: true},
		{Name: "sai-p4", Groups: 3968, Members: 49152, Width: 512, Reserve: 2, Ceiling: 1},
		{Name: "sai-p4-tor", Groups: 960, Members: 31296, Width: 256, Reserve: 2, Ceiling: 1},
		{Name: "tomahawk", Groups: 895, Members: 16000, Width: 128, Reserve: 2, Ceiling: 0.75, Verified: true},
		{Name: "tomahawk3", Groups: 2048, Members: 64000, Width: 512, Variable: 128, Reserve: 2, Ceiling: 0.75, Verified: true},
		{Name: "tomahawk4", Groups: 2048, Members: 56000, Width: 512, NativeCost: 4, Reserve: 2, Ceiling: 0.75, Verified: true},
		{Name: "tomahawk5", Groups: 4096, Members: 64000, Width: 512, NativeCost: 4, Reserve: 2, Ceiling: 0.75, Verified: true},
		{Name: "tomahawk6", Groups: 4096, Members: 128000, Width: 512, NativeCost: 4, Reserve: 2, Ceiling: 0.75},
	}
	got := fib.Profiles()
	if diff := cmp.Diff(got, want, cmpopts.IgnoreFields(fib.Profile{}, "Source")); diff != "" {
		t.Errorf("got -, want +:\n%s", diff)
	}
	for _, p := range got {
		if p.Source == "" {
			t.Errorf("profile %q: no source", p.Name)
		}
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(mustLookup(t, p.Name), p); diff != "" {
			t.Errorf("Lookup(%q): got -, want +:\n%s", p.Name, diff)
		}
	}
	if !slices.IsSortedFunc(got, func(a, b fib.Profile) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("profiles are not sorted by name: %v", got)
	}
}

func TestLookupOfAnUnknownProfileListsTheKnown(t *testing.T) {
	_, err := fib.Lookup("jericho9")
	want := `profile "jericho9": unknown profile: want one of chenab, ebro, g202x, jericho2, jericho3, jericho3-16, jericho4, p200, ` +
		`sai-p4, sai-p4-tor, tomahawk, tomahawk3, tomahawk4, tomahawk5, tomahawk6`
	if !errors.Is(err, fib.ErrUnknownProfile) || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestMemberCostFollowsTheChip(t *testing.T) {
	members := func(weights ...int) []fib.Weighted {
		var m []fib.Weighted
		for i, w := range weights {
			m = append(m, fib.Weighted{ID: int32(i), Weight: w})
		}
		return m
	}
	cases := []struct {
		profile string
		weights []int
		want    int
	}{
		{"jericho3", []int{1, 1, 1, 1}, 4},
		{"jericho3", []int{4, 4, 4, 3}, 15},
		{"jericho3", []int{1}, 0},
		{"tomahawk5", []int{1, 1, 1, 1}, 4},
		{"tomahawk5", []int{4, 4, 4, 3}, 16},
		{"tomahawk5", []int{2, 2}, 8},
		{"tomahawk5", []int{5}, 0},
		{"tomahawk5", nil, 0},
		{"g202x", []int{4, 4, 4, 3}, 4},
		{"tomahawk3", []int{64, 64}, 128},
		{"tomahawk3", []int{65, 64}, 512},
		{"tomahawk3", []int{300, 100}, 512},
	}
	for _, c := range cases {
		if got := mustLookup(t, c.profile).MemberCost(members(c.weights...)); got != c.want {
			t.Errorf("%s weights %v: got %d, want %d", c.profile, c.weights, got, c.want)
		}
	}
}

func TestSteadyLimitsKeepTheCeilingAndTheReserve(t *testing.T) {
	cases := []struct {
		profile         fib.Profile
		groups, members int
	}{
		{mustLookup(t, "jericho3"), 48, 24576},
		{mustLookup(t, "tomahawk5"), 3072, 48000},
		{mustLookup(t, "jericho2"), fib.NoLimit, fib.NoLimit},
		{fib.Profile{Groups: 16, Members: 1000, Width: 400, Reserve: 2, Ceiling: 1}, 14, 200},
		{fib.Profile{Groups: 1, Members: 10, Width: 8, Reserve: 2, Ceiling: 0.75}, 0, 0},
	}
	for _, c := range cases {
		if g, m := c.profile.SteadyGroups(), c.profile.SteadyMembers(); g != c.groups || m != c.members {
			t.Errorf("%+v: got %d groups %d members, want %d and %d", c.profile, g, m, c.groups, c.members)
		}
	}
}

func TestNewTableRefusesAProfileOutOfRange(t *testing.T) {
	good := mustLookup(t, "jericho3")
	cases := []struct {
		change func(*fib.Profile)
		want   string
	}{
		{func(p *fib.Profile) { p.Groups = 0 }, `profile "jericho3": groups 0: want 1 to 2147483647`},
		{func(p *fib.Profile) { p.Members = -2 }, `profile "jericho3": members -2: want 1 to 2147483647`},
		{func(p *fib.Profile) { p.Width = fib.MaxWidth + 1 }, `profile "jericho3": width 1048577: want 1 to 1048576`},
		{func(p *fib.Profile) { p.Variable = 2049 }, `profile "jericho3": variable 2049: want 0 to 2048`},
		{func(p *fib.Profile) { p.NativeCost = -4 }, `profile "jericho3": native cost -4: want 0 to 1024`},
		{func(p *fib.Profile) { p.Reserve = 65 }, `profile "jericho3": reserve 65: want 0 to 64`},
		{func(p *fib.Profile) { p.Ceiling = 0 }, `profile "jericho3": ceiling 0: want above 0, up to 1`},
	}
	for _, c := range cases {
		p := good
		c.change(&p)
		if _, err := fib.NewTable(p, fib.Minimax); err == nil || err.Error() != c.want {
			t.Errorf("got error %v, want %s", err, c.want)
		}
	}
	if _, err := fib.NewTable(good, "best"); !errors.Is(err, fib.ErrUnknownAlgorithm) {
		t.Errorf("algorithm %q: got error %v, want %v", "best", err, fib.ErrUnknownAlgorithm)
	}
}
