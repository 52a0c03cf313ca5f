package damping

import (
	"math"
	"strings"
	"testing"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestDeadbandIgnoresTheFirstFailuresAndThenActsInSteps(t *testing.T) {
	cases := []struct {
		skip, every int
		members     int
		want        []uint64 // passed with 0, 1, 2... members failed
	}{
		{0, 1, 4, []uint64{4, 3, 2, 1, 0}},
		{2, 1, 6, []uint64{6, 6, 6, 5, 4, 3, 0}},
		{0, 3, 8, []uint64{8, 7, 7, 7, 4, 4, 4, 1, 0}},
		{1, 4, 8, []uint64{8, 8, 7, 7, 7, 7, 3, 3, 0}},
		{9, 1, 3, []uint64{3, 3, 3, 0}}, // all of the bundle in the band: only down is told
	}
	for _, c := range cases {
		p := Deadband{Skip: c.skip, Every: c.every}.NewBundleFor(BundleInfo{Members: c.members, Speed: member})
		for failed, want := range c.want {
			got, next := p.Step(0, uint64(c.members-failed)*member)
			if got != (Passed{Capacity: want * member}) || next != Never {
				t.Errorf("skip %d every %d: %d of %d failed: got %v, next %v, want %d members and Never", c.skip, c.every, failed, c.members, got, next, want)
			}
		}
	}
}

func TestDeadbandOfAnUnknownBundlePassesEverything(t *testing.T) {
	d := Deadband{Skip: 3, Every: 2}
	for _, p := range []BundlePolicy{d.NewBundle(), d.NewBundleFor(BundleInfo{Members: 9}), d.NewBundleFor(BundleInfo{Speed: 9}), Deadband{}.NewBundleFor(BundleInfo{Members: 9, Speed: 1})} {
		if got, _ := p.Step(0, 7); got.Capacity != 7 {
			t.Errorf("got %v, want 7", got)
		}
	}
	info := BundleInfo{Members: 9, Speed: 1}
	if got, _ := (Pipeline{Bundle: []BundleStage{d}}).NewBundleFor(info).Step(0, 6); got.Capacity != 9 {
		t.Errorf("in a pipeline that knows the bundle: got %v, want 9", got)
	}
}

func TestDeadbandPassesHalfAMemberAsOneMoreFailedButNeverLessThanIsThere(t *testing.T) {
	p := Deadband{Every: 1}.NewBundleFor(BundleInfo{Members: 4, Speed: 10})
	for capacity, want := range map[uint64]uint64{40: 40, 39: 39, 31: 31, 25: 25, 1: 1, 0: 0, 45: 45} {
		if got, _ := p.Step(0, capacity); got.Capacity != want {
			t.Errorf("%d: got %v, want %d", capacity, got, want)
		}
	}
}

func TestDeadbandRefusesBadCounts(t *testing.T) {
	for want, d := range map[string]Deadband{
		"deadband: skip -1":    {Skip: -1, Every: 1},
		"deadband: skip 4097":  {Skip: 4097, Every: 1},
		"deadband: every 0":    {},
		"deadband: every 4097": {Every: 4097},
	} {
		if err := d.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", d, err, want)
		}
	}
}

// checkDeadband counts failures one by one, and holds the laws of any bundle
// and of this one against what comes out.
func checkDeadband(t *testing.T, d Deadband, members int) {
	t.Helper()
	info := BundleInfo{Members: members, Speed: member}
	p, law, exact := d.NewBundleFor(info), d.Law(), d.LawFor(info)
	counted, worst := 0, 0.0
	for failed := 0; failed < members; failed++ {
		if beyond := failed - d.Skip; beyond > 0 && (beyond-1)%d.Every == 0 {
			counted = beyond
		}
		there := uint64(members-failed) * member
		got, _ := p.Step(0, there)
		if want := uint64(members-counted) * member; got.Capacity != want {
			t.Fatalf("%v: %d of %d failed: got %d members, want %d", d, failed, members, got.Capacity/member, want/member)
		}
		worst = max(worst, float64(got.Capacity)/float64(there)-1)
	}
	if worst > law.Over+1e-12 {
		t.Fatalf("%v: %d members: got worst error %v, want at most %v", d, members, worst, law.Over)
	}
	if math.Abs(exact.Over-worst) > 1e-12 {
		t.Fatalf("%v: law of %d members: got %v, want the worst error %v", d, members, exact.Over, worst)
	}
}

func TestDeadbandIsWhatCountingFinds(t *testing.T) {
	ps := gopter.NewProperties(nil)
	ps.Property("for every number of failures", prop.ForAll(func(skip, every, members int) bool {
		checkDeadband(t, Deadband{Skip: skip, Every: every}, members)
		return true
	}, gen.IntRange(0, 40), gen.IntRange(1, 20), gen.IntRange(1, 100)))
	ps.TestingRun(t)
}

func FuzzDeadband(f *testing.F) {
	f.Add(uint8(2), uint8(4), uint16(64))
	f.Fuzz(func(t *testing.T, skip, every uint8, members uint16) {
		checkDeadband(t, Deadband{Skip: int(skip), Every: int(every) + 1}, int(members)%512+1)
	})
}
