package topologies

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestEveryKnobTakesItsValuesAndGivesThemBack(t *testing.T) {
	free := map[string][]string{
		"advertise.value": {"0", "25.6T"}, "rib-batch": {"0s", "200ms"}, "restart.stale-time": {"0s", "30s"}, "restart.eor-time": {"2m0s", "30s"}, "drain.linger": {"1s", "2m0s"}, "import.max-prefixes": {"0", "12000"},
		"import.reject-classes": {"", "spine,region"}, "import.reject-communities": {"", "65535:0,65000:1"},
	}
	for _, k := range Knobs() {
		values := k.Values
		if f, ok := free[k.Name]; ok {
			values = f
		}
		for _, v := range values {
			s := DefaultSettings()
			if err := s.Set(k.Name, v); err != nil {
				t.Errorf("%s = %q: %v", k.Name, v, err)
			}
			if got, err := s.Get(k.Name); err != nil || got != v {
				t.Errorf("%s: got %q, %v, want %q", k.Name, got, err, v)
			}
		}
		if k.Doc == "" || k.Who == "" || k.Source == "" {
			t.Errorf("%s: not documented", k.Name)
		}
		s := DefaultSettings()
		if got, _ := s.Get(k.Name); got != k.Default {
			t.Errorf("%s: default %q, want %q", k.Name, got, k.Default)
		}
	}
}

func TestBadKnobsAreRefusedWithNameAndValue(t *testing.T) {
	for _, c := range []struct{ knob, value, want string }{
		{"weights.colour", "red", `knob "weights.colour": want one of weights.source`},
		{"weights.source", "both", `weights.source "both": want bottleneck, received`},
		{"advertise", "all", `advertise "all"`},
		{"advertise.value", "-1", `advertise.value "-1"`},
		{"rib-batch", "-1s", `rib-batch "-1s"`},
		{"import.max-prefixes", "many", `import.max-prefixes "many"`},
		{"import.reject-communities", "70000:1", `import.reject-communities "70000:1"`},
	} {
		s := DefaultSettings()
		if err := s.Set(c.knob, c.value); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %q: got %v, want %q", c.knob, c.value, err, c.want)
		}
		if _, err := s.Get("weights.colour"); err == nil {
			t.Error("an unknown knob has a value")
		}
	}
}

func TestContradictingKnobsAreRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Settings)
		ok     bool
	}{
		{func(*Settings) {}, true},
		{func(s *Settings) { s.Advertise, s.AdvertiseValue = AdvertiseSet, 1e12 }, true},
		{func(s *Settings) { s.AdvertiseValue = 1e12 }, true},
		{func(s *Settings) { s.Advertise = AdvertiseSet }, false},
		{func(s *Settings) { s.Advertise, s.AdvertiseValue = AdvertiseDisable, 1e12 }, false},
		{func(s *Settings) { s.Advertise, s.Divide = AdvertiseDisable, DivideEqual }, false},
		{func(s *Settings) { s.Linger = 0 }, false},
		{func(s *Settings) { s.Linger = time.Hour }, true},
	} {
		s := DefaultSettings()
		c.change(&s)
		if err := s.Validate(); (err == nil) != c.ok {
			t.Errorf("%+v: got %v, want ok %v", s, err, c.ok)
		}
	}
}

func TestDrainStatesHaveNames(t *testing.T) {
	for _, d := range []DrainState{Live, Warm, Drained} {
		if got, ok := ParseDrainState(d.String()); !ok || got != d {
			t.Errorf("%v: got %v, %v", d, got, ok)
		}
	}
	if _, ok := ParseDrainState("empty"); ok {
		t.Error(`"empty" is a drain state`)
	}
	s := DefaultSettings()
	if s.RIBBatch != 200*time.Millisecond || !slices.Contains([]string{SourceBottleneck}, s.WeightSource) {
		t.Errorf("defaults: %+v", s)
	}
}

// TestTheKnobsPageIsThatOfTheTable writes the table of docs/knobs.md anew with
// BAGRIG_UPDATE=1.
func TestTheKnobsPageIsThatOfTheTable(t *testing.T) {
	const page, begin, end = "../docs/knobs.md", "<!-- knobs -->\n", "<!-- end of knobs -->"
	var b strings.Builder
	b.WriteString("| knob | values | default | meaning | who does it so | source |\n|---|---|---|---|---|---|\n")
	for _, k := range Knobs() {
		def := k.Default
		if def == "" {
			def = "none"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | `%s` | %s | %s | %s |\n", k.Name, strings.Join(k.Values, "`, `"), def, k.Doc, k.Who, k.Source)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	table, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: want %q and %q", page, begin, end)
	}
	if table == b.String() {
		return
	}
	if os.Getenv("BAGRIG_UPDATE") == "" {
		t.Fatalf("%s is not that of the table: run with BAGRIG_UPDATE=1", page)
	}
	if err := os.WriteFile(page, []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
