package damping

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// flap is a day of a bundle that loses members for half of every period.
func flap(period time.Duration, full, low int) []Sample {
	series := []Sample{{0, full}}
	for at := period; at < 24*time.Hour; at += period {
		series = append(series, Sample{at, low}, Sample{at + period/2, full})
	}
	return series
}

// noise is a day in which the number of lost members is drawn anew every 90 s.
func noise(full int, mean float64) []Sample {
	r := rand.New(rand.NewPCG(1, 0))
	series := []Sample{{0, full}}
	for at := 90 * time.Second; at < 24*time.Hour; at += 90 * time.Second {
		series = append(series, Sample{at, full - min(full-1, int(r.ExpFloat64()*mean))})
	}
	return series
}

// doubling is bag-default with a hold that grows to 8 minutes.
func doubling(t *testing.T) Pipeline {
	p := preset800(t, PresetBagDefault, 0)
	p.Name = "bag-default, doubling"
	p.Bundle = []BundleStage{HoldDown{T: DefaultHoldDown, Max: 8 * time.Minute, Forget: 16 * time.Minute}}
	return p
}

// nearest is bag-default that rounds to the nearest level.
func nearest(t *testing.T) Pipeline {
	q, err := NewQuantize(member, DefaultError, Nearest)
	if err != nil {
		t.Fatal(err)
	}
	return Pipeline{Name: "bag-default, nearest", Bundle: []BundleStage{HoldDown{T: DefaultHoldDown}}, Told: []ToldStage{q}}
}

// anchored is bag-default on the grid of bgp++.
func anchored(t *testing.T, members int) Pipeline {
	p := preset800(t, PresetBGPPP, members)
	return Pipeline{Name: "bag-default, anchored", Bundle: []BundleStage{HoldDown{T: DefaultHoldDown}}, Told: p.Told}
}

func preset800(t *testing.T, name string, members int) Pipeline {
	t.Helper()
	p, err := PresetFor(name, Sizes{Step: member, Largest: uint64(members) * member})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAFlapOfAnEighthEveryTenSecondsIsToldAThousandTimesLess(t *testing.T) {
	series := flap(10*time.Second, 32, 28)
	none, damped := replayed(t, Pipeline{}, series), replayed(t, preset800(t, PresetBagDefault, 0), series)
	if none.Churn() < 1000*damped.Churn() || damped.MisTold() > 0.07 {
		t.Errorf("got churn %d of %d, mis-told %.4f, want 1/1000 and at most 0.07", damped.Churn(), none.Churn(), damped.MisTold())
	}
}

func TestNoiseOn576MembersIsToldTwentyTimesLessWithinFivePercent(t *testing.T) {
	series := noise(576, 12)
	none := replayed(t, Pipeline{}, series)
	for _, p := range []Pipeline{nearest(t), anchored(t, 576), preset800(t, PresetBGPPP, 576)} {
		got := replayed(t, p, series)
		if none.Churn() < 20*got.Churn() || got.MisTold() > 0.05 {
			t.Errorf("%s: got churn %d of %d, mis-told %.4f, want 1/20 and at most 0.05", p.Name, got.Churn(), none.Churn(), got.MisTold())
		}
	}
	// Rounding up on the absolute grid does not do it: 576 has an edge near it.
	if got := replayed(t, preset800(t, PresetBagDefault, 0), series); none.Churn() >= 20*got.Churn() {
		t.Errorf("bag-default: got churn %d of %d: it does buy enough, so say so", got.Churn(), none.Churn())
	}
}

func TestAFlapSlowerThanTheHoldDownIsHelpedByDoublingOnly(t *testing.T) {
	series := flap(90*time.Second, 32, 24)
	none := replayed(t, Pipeline{}, series).Churn()
	plain, doubled := replayed(t, preset800(t, PresetBagDefault, 0), series), replayed(t, doubling(t), series)
	if plain.Churn() != none {
		t.Errorf("plain hold-down: got churn %d of %d, want all: T is shorter than the flap", plain.Churn(), none)
	}
	if none < 300*doubled.Churn() || doubled.MisTold() > 0.15 {
		t.Errorf("doubling: got churn %d of %d, mis-told %.4f, want 1/300 and at most 0.15", doubled.Churn(), none, doubled.MisTold())
	}
}

func TestFlapDampingSuppressesADegradedButLivePath(t *testing.T) {
	series := flap(10*time.Second, 32, 28)
	for name, least := range map[string]float64{PresetRFDCisco: 0.999, PresetRFD7196: 0.999} {
		got := replayed(t, preset800(t, name, 0), series)
		if got.Under < least*got.There || len(got.Withheld) == 0 {
			t.Errorf("%s: got %.4f of the capacity withheld, want %v or more: 28 of 32 members were there at all times", name, got.Under/got.There, least)
		}
	}
	if got := replayed(t, preset800(t, PresetBagDefault, 0), series); got.Withheld != nil {
		t.Errorf("bag-default: got withheld %v, want none", got.Withheld)
	}
}

func TestAFlapInsideOneLevelIsNotTold(t *testing.T) {
	if got := replayed(t, preset800(t, PresetBagDefault, 0), flap(10*time.Second, 33, 31)).Churn(); got != 1 {
		t.Errorf("33 and 31 members, level 33: got churn %d, want 1, the first value", got)
	}
	if got := replayed(t, preset800(t, PresetBGPPP, 2500), []Sample{{0, 2500}, {time.Minute, 2499}, {2 * time.Minute, 2500}}).Churn(); got != 1 {
		t.Errorf("one of 2,500 members: got churn %d, want 1, the first value", got)
	}
}

// named is a series with the name that the page gives it.
type named struct {
	name   string
	series []Sample
}

// allSeries are the recorded series and those of the figures.
func allSeries(t *testing.T) []named {
	var list []named
	for _, name := range recordings(t) {
		list = append(list, named{name, recorded(t, name)})
	}
	return append(list,
		named{"flap 10 s", flap(10*time.Second, 32, 28)},
		named{"flap 90 s", flap(90*time.Second, 32, 24)},
		named{"noise, a day", noise(576, 12)})
}

// compared are the presets and the variants of bag-default.
func compared(t *testing.T, members int) []Pipeline {
	var list []Pipeline
	for _, name := range Presets() {
		list = append(list, preset800(t, name, members))
	}
	return append(list, doubling(t), nearest(t), anchored(t, members))
}

// comparison is the table of docs/damping.md.
func comparison(t *testing.T) string {
	head, rule := "| ", "|---|"
	var rows []string
	for _, p := range compared(t, 1) {
		rows = append(rows, "| "+p.Name)
	}
	for _, s := range allSeries(t) {
		head, rule = head+"| "+s.name+" ", rule+"---|"
		for i, p := range compared(t, members(s.series)) {
			got := replayed(t, p, s.series)
			rows[i] += fmt.Sprintf(" | %d / +%.1f / -%.1f", got.Churn(), 100*got.Over/got.There, 100*got.Under/got.There)
		}
	}
	return head + "|\n" + rule + "\n" + strings.Join(rows, " |\n") + " |\n"
}

func TestPageComparesAllPresetsOnAllSeries(t *testing.T) {
	const file, begin, end = "../docs/damping.md", "<!-- comparison -->\n", "<!-- /comparison -->\n"
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), begin)
	got, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s: want the marks %q and %q", file, begin, end)
	}
	want := comparison(t)
	if os.Getenv("BAGRIG_UPDATE") == "1" {
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("%s: run with BAGRIG_UPDATE=1: -got +want\n%s", file, d)
	}
}

func TestLawsHoldForPresetsOnAllSeries(t *testing.T) {
	for _, s := range allSeries(t) {
		info := BundleInfo{Members: members(s.series), Speed: member}
		bits := make([]sample, len(s.series))
		for i, m := range s.series {
			bits[i] = sample{m.At, uint64(m.Members) * member}
		}
		for _, p := range compared(t, info.Members) {
			if err := newLawRun(p, info).run(bits); err != nil {
				t.Errorf("%s: %s: %v", s.name, p.Name, err)
			}
		}
	}
}
