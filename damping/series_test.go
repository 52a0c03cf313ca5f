package damping

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// recorded reads a series of testdata.
func recorded(t *testing.T, name string) []Sample {
	t.Helper()
	file, err := os.Open("testdata/series/" + name + ".csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	series, err := ReadSeries(file)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return series
}

// recordings returns the names of all recorded series.
func recordings(t *testing.T) []string {
	t.Helper()
	files, err := fs.Glob(os.DirFS("testdata/series"), "*.csv")
	if err != nil || len(files) < 4 {
		t.Fatalf("got series %v, %v, want four or more", files, err)
	}
	for i, f := range files {
		files[i] = strings.TrimSuffix(f, ".csv")
	}
	return files
}

// members is the largest count of a series.
func members(series []Sample) int {
	return slices.MaxFunc(series, func(a, b Sample) int { return a.Members - b.Members }).Members
}

func TestReadSeriesReadsSecondsAndUnits(t *testing.T) {
	got, err := ReadSeries(strings.NewReader("# a comment\n time , members\n0,32\n\n0.25, 24\n# another\n90,0\n1m30.5s,32\n2h,31\n"))
	want := []Sample{{0, 32}, {250 * time.Millisecond, 24}, {90 * time.Second, 0}, {90500 * time.Millisecond, 32}, {2 * time.Hour, 31}}
	if d := cmp.Diff(got, want); d != "" || err != nil {
		t.Errorf("error %v, -got +want\n%s", err, d)
	}
}

func TestReadSeriesNamesTheLineAndQuotesTheValue(t *testing.T) {
	cases := []struct{ text, want string }{
		{"", `series: empty: want the header "time,members"`},
		{"# only a comment\n", `series: empty: want the header "time,members"`},
		{"time,links\n0,1\n", `series: line 1: header "time,links": want "time,members"`},
		{"time,members\n", "series: no samples: want one or more"},
		{"time,members\n0,1\n# x\nabc,1\n", `series: line 4: time "abc": want 0 or more`},
		{"time,members\n-1,1\n", `series: line 2: time "-1": want 0 or more`},
		{"time,members\nNaN,1\n", `series: line 2: time "NaN": want 0 or more`},
		{"time,members\n1e400,1\n", `series: line 2: time "1e400": want 0 or more`},
		{"time,members\n9999999999999,1\n", `series: line 2: time "9999999999999": want 0 or more`},
		{"time,members\n0,-1\n", `series: line 2: members "-1": want 0 to 4096`},
		{"time,members\n0,4097\n", `series: line 2: members "4097": want 0 to 4096`},
		{"time,members\n0,1.5\n", `series: line 2: members "1.5": want 0 to 4096`},
		{"time,members\n0,NaN\n", `series: line 2: members "NaN": want 0 to 4096`},
		{"time,members\n5,1\n5,2\n", "series: line 3: time 5s: given twice"},
		{"time,members\n5,1\n\n4.5,2\n", "series: line 4: time 4.5s: goes backwards from 5s"},
		{"time,members\n0,1,2\n", "series: record on line 2: wrong number of fields"},
		{"time,members\n0\n", "series: record on line 2: wrong number of fields"},
	}
	for _, c := range cases {
		if got, err := ReadSeries(strings.NewReader(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: got %v, %v, want %q", c.text, got, err, c.want)
		}
	}
}

func TestRecordedSeriesAreReadAndSayHowManyMembers(t *testing.T) {
	for _, name := range recordings(t) {
		series := recorded(t, name)
		if len(series) < 10 || members(series) != series[0].Members {
			t.Errorf("%s: got %d samples of up to %d members, want 10 or more that begin at full health", name, len(series), members(series))
		}
	}
}

func FuzzReadSeries(f *testing.F) {
	f.Add("time,members\n0,32\n1m,31\n")
	f.Fuzz(func(t *testing.T, text string) {
		series, err := ReadSeries(strings.NewReader(text))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "series: ") {
				t.Errorf("got error %q, want it to begin with series:", err)
			}
			return
		}
		if len(series) == 0 {
			t.Error("got no samples and no error")
		}
		for i, s := range series {
			if s.At < 0 || s.Members < 0 || s.Members > maxMembers || i > 0 && s.At <= series[i-1].At {
				t.Errorf("got sample %d %v in %v, want rising times and 0 to 4096 members", i, s, series)
			}
		}
	})
}
