package damping

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"
)

func TestReplayCountsWhatIsToldAndMeasuresTheAreas(t *testing.T) {
	const s = time.Second
	p := Pipeline{Name: "x", Bundle: []BundleStage{HoldDown{T: 30 * s}}, Told: []ToldStage{Quantize{Step: 10, Error: 0.5}}}
	got, err := Replay(p, BundleInfo{Members: 10, Speed: 10}, []Sample{{0, 10}, {100 * s, 6}, {110 * s, 10}, {200 * s, 0}, {210 * s, 10}}, 300*s)
	if err != nil {
		t.Fatal(err)
	}
	valued := func(n uint64) Value { return Value{Reach: Valued, Bits: n} }
	want := &Trace{
		End: 300 * s,
		Changes: []Change{ // levels 10, 20, 30, 40, 60, 90, 130 and so on
			{0, 100, Passed{Capacity: 100}, valued(130)},
			{100 * s, 60, Passed{Capacity: 60}, valued(60)},
			{110 * s, 100, Passed{Capacity: 60}, valued(60)},
			{140 * s, 100, Passed{Capacity: 100}, valued(130)},
			{200 * s, 0, Passed{}, Value{}},
			{210 * s, 100, Passed{100, true}, valued(130)},
			{240 * s, 100, Passed{Capacity: 100}, valued(130)},
		},
		Advertisements: 4, Withdrawals: 1,
		Held:  []Window{{110 * s, 140 * s}, {210 * s, 240 * s}},
		There: 100*280 + 60*10, Over: 30*100 + 30*60 + 30*90, Under: 40 * 30,
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
	if got.Churn() != 5 || math.Abs(got.MisTold()-(7500.0+1200)/28600) > 1e-12 || Length(got.Held) != 60*s {
		t.Errorf("got churn %d, mis-told %v, held %v, want 5, 0.304, 1m0s", got.Churn(), got.MisTold(), Length(got.Held))
	}
}

func TestReplayShowsWhenAPathIsWithheld(t *testing.T) {
	const m = time.Minute
	p, err := Preset(PresetRFDCisco, member)
	if err != nil {
		t.Fatal(err)
	}
	series := []Sample{{0, 32}}
	for i := range 6 {
		series = append(series, Sample{time.Duration(10+i) * m, 32 - (i+1)%2})
	}
	got, err := Replay(p, BundleInfo{Members: 32, Speed: member}, series, 120*m)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Withheld) != 1 || got.Withheld[0].From != 14*m || got.Withheld[0].To < 35*m || got.Withheld[0].To > 45*m {
		t.Errorf("got withheld %v, want one window of about 25 minutes from 14m0s: one member of 32 flapped", got.Withheld)
	}
	if got.Withdrawals != 1 || got.Under < 0.95*32*member*Length(got.Withheld).Seconds() {
		t.Errorf("got %d withdrawals, %v bits under, want 1 and all of that window", got.Withdrawals, got.Under)
	}
}

func TestReplayRefusesBadInput(t *testing.T) {
	const s = time.Second
	info := BundleInfo{Members: 4, Speed: 1}
	one := []Sample{{0, 4}}
	cases := []struct {
		p      Pipeline
		info   BundleInfo
		series []Sample
		end    time.Duration
		want   string
	}{
		{Pipeline{Name: "x", Bundle: []BundleStage{HoldDown{T: -1}}}, info, one, s, `pipeline "x": bundle stage 1: holddown`},
		{Pipeline{}, BundleInfo{Members: 4}, one, s, "replay: bundle of 4 members of 0 bits/s"},
		{Pipeline{}, BundleInfo{Speed: 4}, one, s, "replay: bundle of 0 members of 4 bits/s"},
		{Pipeline{}, info, nil, s, "replay: no samples"},
		{Pipeline{}, info, one, Never, "replay: end"},
		{Pipeline{}, info, []Sample{{0, 4}, {s, 5}}, s, "replay: sample 2: members 5: the bundle has 4"},
		{Pipeline{}, info, []Sample{{0, -1}}, s, "replay: sample 1: members -1: want 0 to 4096"},
		{Pipeline{}, info, []Sample{{-s, 1}}, s, "replay: sample 1: time -1s: want 0 or more"},
		{Pipeline{}, info, []Sample{{s, 1}, {s, 2}}, s, "replay: sample 2: time 1s: given twice"},
		{Pipeline{}, info, []Sample{{s, 1}, {0, 2}}, s, "replay: sample 2: time 0s: goes backwards from 1s"},
		{Pipeline{}, info, []Sample{{2 * s, 1}}, s, "replay: sample 1: time 2s: beyond the end 1s"},
	}
	for _, c := range cases {
		if _, err := Replay(c.p, c.info, c.series, c.end); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestReplayOfNoneTellsEveryChangeAndNothingWrong(t *testing.T) {
	for _, name := range recordings(t) {
		series := recorded(t, name)
		got := replayed(t, Pipeline{}, series)
		if got.Churn() != len(series) || got.Over != 0 || got.Under != 0 || got.Held != nil || got.Withheld != nil {
			t.Errorf("%s: got churn %d, over %v, under %v, held %v, withheld %v, want %d and nothing else",
				name, got.Churn(), got.Over, got.Under, got.Held, got.Withheld, len(series))
		}
	}
}

// replayed runs a series of 800G members to an hour after its end.
func replayed(t *testing.T, p Pipeline, series []Sample) *Trace {
	t.Helper()
	got, err := Replay(p, BundleInfo{Members: members(series), Speed: member}, series, series[len(series)-1].At+time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAreasAreTheSumOverEverySecond(t *testing.T) {
	params := gopter.DefaultTestParameters()
	params.MinSuccessfulTests = 200
	ps := gopter.NewProperties(params)
	ps.Property("of what is told less what is there", prop.ForAll(func(seed uint64, draws []byte) bool {
		r := rand.New(rand.NewPCG(seed, 9))
		series := []Sample{{0, 7}}
		for _, d := range draws {
			series = append(series, Sample{series[len(series)-1].At + time.Duration(1+d%16), int(d / 16 % 8)})
		}
		end := series[len(series)-1].At + 50
		trace, err := Replay(drawPipeline(r), lawInfo, series, end)
		if err != nil {
			t.Error(err)
			return false
		}
		var there, over, under float64
		now, i := Change{}, 0
		for at := time.Duration(0); at < end; at++ {
			for ; i < len(trace.Changes) && trace.Changes[i].At == at; i++ {
				now = trace.Changes[i]
			}
			there += float64(now.There)
			over += max(0, float64(now.Told.Bits)-float64(now.There))
			under += max(0, float64(now.There)-float64(now.Told.Bits))
		}
		same := func(got, want float64) bool { return math.Abs(got-want/1e9) <= 1e-9*(want/1e9)+1e-3 }
		return same(trace.There, there) && same(trace.Over, over) && same(trace.Under, under)
	}, gen.UInt64(), genBytes()))
	ps.TestingRun(t)
}
