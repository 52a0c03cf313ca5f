package fuzz

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// The corpus that is committed, and what each entry of it stood for when it was added.
const (
	corpus   = "testdata/fuzz/FuzzSchedule"
	schedule = "testdata/schedules.txt"
)

// entryHead is the first line of a corpus entry of Go's.
const entryHead = "go test fuzz v1"

// readEntry reads an entry of the corpus. The error says in which line what was expected.
func readEntry(file string, data []byte) ([]byte, error) {
	bad := func(line int, got, want string) error {
		return fmt.Errorf("%s:%d: %q: want %s", file, line, got, want)
	}
	lines := strings.Split(strings.TrimRight(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n"), "\n")
	if lines[0] != entryHead {
		return nil, bad(1, lines[0], strconv.Quote(entryHead)+": of another version Go keeps its own reader, so let the Go that wrote it write it anew")
	}
	const value = "`[]byte(\"...\")` and nothing after it; what it stood for is in " + schedule
	if len(lines) != 2 {
		return nil, bad(min(len(lines), 3), lines[min(len(lines), 3)-1], value)
	}
	quoted, opens := strings.CutPrefix(lines[1], "[]byte(")
	quoted, closes := strings.CutSuffix(quoted, ")")
	text, err := strconv.Unquote(quoted)
	if !opens || !closes || err != nil {
		return nil, bad(2, lines[1], value)
	}
	return []byte(text), nil
}

func writeEntry(data []byte) []byte {
	return []byte(entryHead + "\n[]byte(" + strconv.Quote(string(data)) + ")\n")
}

// entries reads the whole corpus, sorted by name.
func entries(t *testing.T) (names []string, data map[string][]byte) {
	t.Helper()
	files, err := os.ReadDir(corpus)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	data = map[string][]byte{}
	for _, f := range files {
		path := filepath.Join(corpus, f.Name())
		text, err := os.ReadFile(path)
		if err == nil {
			data[f.Name()], err = readEntry(path, text)
		}
		if err != nil {
			t.Error(err)
			continue
		}
		names = append(names, f.Name())
	}
	return names, data
}

// standsFor is a case in one line, which is another for any other case.
func standsFor(t *testing.T, sc *harness.Scenario) string {
	t.Helper()
	text, err := harness.WriteScenario(sc)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range sc.Events {
		events = append(events, e.String())
	}
	return fmt.Sprintf("%.4x; %s; damping %s; %s", sha256.Sum256(text), sc.Topology.Summary(), sc.Damping.Name, strings.Join(events, "; "))
}

// TestEveryEntryStandsForWhatItDid keeps entries from becoming other cases unseen,
// which they do when properties/generate draws otherwise: bytes have no version.
// BAGRIG_UPDATE=1 picks the seeds anew, and writes down what all entries stand for.
func TestEveryEntryStandsForWhatItDid(t *testing.T) {
	if os.Getenv("BAGRIG_UPDATE") != "" {
		pick(t)
	}
	names, data := entries(t)
	var text strings.Builder
	for _, name := range names {
		fmt.Fprintf(&text, "%s: %s\n", name, standsFor(t, Case(data[name])))
	}
	if os.Getenv("BAGRIG_UPDATE") != "" {
		if err := os.WriteFile(schedule, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(schedule)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range compareLists(text.String(), string(want)) {
		t.Error(err)
	}
}

// compareLists compares what entries stand for with what they did, line by line.
func compareLists(got, want string) (errs []error) {
	read := func(text string) (list map[string]string, line map[string]int) {
		list, line = map[string]string{}, map[string]int{}
		n := 0
		for l := range strings.Lines(text) {
			n++
			name, rest, _ := strings.Cut(strings.TrimRight(l, "\r\n"), ": ")
			list[name], line[name] = rest, n
		}
		return list, line
	}
	now, _ := read(got)
	before, line := read(want)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		switch was, ok := before[name]; {
		case !ok:
			errs = append(errs, fmt.Errorf("%s/%s: want it in %s: BAGRIG_UPDATE=1 go test ./fuzz adds it", corpus, name, schedule))
		case was != now[name]:
			errs = append(errs, fmt.Errorf("%s/%s:2: stands for %q, want %q as in %s:%d: cases are drawn otherwise now. To convert, BAGRIG_UPDATE=1 go test ./fuzz picks seeds anew; an entry that failed once has its schedule in a fail file, and can go",
				corpus, name, now[name], was, schedule, line[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := now[name]; !ok {
			errs = append(errs, fmt.Errorf("%s:%d: %q: want an entry %s/%s: get the file back, or take the line out", schedule, line[name], name, corpus, name))
		}
	}
	return errs
}

// seeds are what the committed seeds show, each by one entry of as few bytes as can be.
func seeds() map[string]func(*harness.Scenario) bool {
	all := map[string]func(*harness.Scenario) bool{}
	for _, k := range state.Kinds() {
		all["event-"+k.Name] = func(sc *harness.Scenario) bool {
			return slices.ContainsFunc(sc.Events[:len(sc.Events)-1], func(e state.Event) bool { return e.Kind == k.Name })
		}
	}
	role := func(r topologies.Role) func(*harness.Scenario) bool {
		return func(sc *harness.Scenario) bool {
			return slices.ContainsFunc(sc.Topology.Devices, func(d topologies.Device) bool { return d.Role == r })
		}
	}
	all["shape-racks"], all["shape-hub"], all["shape-backbone"] = role(topologies.Rack), role(topologies.Hub), role(topologies.Backbone)
	all["shape-aggregates"] = func(sc *harness.Scenario) bool {
		return slices.ContainsFunc(sc.Topology.Prefixes, func(p topologies.Prefix) bool { return p.Aggregate != nil })
	}
	all["shape-dual"] = func(sc *harness.Scenario) bool {
		six := func(p topologies.Prefix) bool { return p.Prefix.Addr().Is6() }
		return slices.ContainsFunc(sc.Topology.Prefixes, six) && !six(sc.Topology.Prefixes[0])
	}
	all["timed"] = func(sc *harness.Scenario) bool { return len(sc.Events) > 2 && sc.Events[0].At > 0 }
	all["damping-of-its-own"] = func(sc *harness.Scenario) bool { return sc.Plan != nil }
	return all
}

// pick looks for bytes that show each thing and hold, and leaves as few as it can of them.
func pick(t *testing.T) {
	t.Helper()
	if err := os.MkdirAll(corpus, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, shows := range seeds() {
		if err := os.WriteFile(filepath.Join(corpus, "seed-"+name), writeEntry(picked(t, name, shows)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func picked(t *testing.T, name string, shows func(*harness.Scenario) bool) []byte {
	t.Helper()
	h := sha256.Sum256([]byte(name))
	r := rand.New(rand.NewPCG(uint64(h[0]), uint64(h[1])))
	good := func(data []byte) bool {
		sc := Case(data)
		if !shows(sc) {
			return false
		}
		_, err := Play(t.Context(), sc)
		return err == nil
	}
	for range 10_000 {
		data := randomBytes(r)
		if !good(data) {
			continue
		}
		for i := range data {
			if was := data[i]; was != 0 {
				if data[i] = 0; !good(data) {
					data[i] = was
				}
			}
		}
		return bytes.TrimRight(data, "\x00")
	}
	t.Fatalf("%s: no bytes found that show it", name)
	return nil
}

func TestTheSeedsShowEveryKindOfEventAndShape(t *testing.T) {
	_, data := entries(t)
	for name, shows := range seeds() {
		entry, ok := data["seed-"+name]
		if !ok || !shows(Case(entry)) {
			t.Errorf("seed-%s: %q: want bytes that show it: BAGRIG_UPDATE=1 go test ./fuzz picks some", name, entry)
		}
	}
}

func TestADamagedEntrySaysWhereAndWhatWasExpected(t *testing.T) {
	good := writeEntry([]byte("ab\x00\xff\"\\"))
	if got, err := readEntry("e", good); err != nil || !bytes.Equal(got, []byte("ab\x00\xff\"\\")) {
		t.Errorf("got %q and %v, want what was written", got, err)
	}
	for text, want := range map[string]string{
		"go test fuzz v2\n[]byte(\"a\")\n": `e:1: "go test fuzz v2": want "go test fuzz v1"`,
		"":                                 `e:1: "": want "go test fuzz v1"`,
		"go test fuzz v1\n":                "e:1: ",
		"go test fuzz v1\n[]byte(\"a\n":    "e:2: ",
		"go test fuzz v1\nint(3)\n":        `e:2: "int(3)": want `,
		"go test fuzz v1\n[]byte(\"a\")\n[]byte(\"a\")\n": "e:3: ",
	} {
		if got, err := readEntry("e", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %q and %v, want %q in an error", text, got, err, want)
		}
	}
}

func TestAnEntryOfAnotherVersionIsNotTakenForTheSame(t *testing.T) {
	errs := errors.Join(compareLists("a: 1; x\nb: 2; y\nd: 4\n", "a: 1; x\nb: 3; z\nc: 9\n")...)
	for _, want := range []string{
		corpus + `/b:2: stands for "2; y", want "3; z" as in ` + schedule + ":2",
		schedule + `:3: "c": want an entry`,
		corpus + "/d: want it in " + schedule,
	} {
		if errs == nil || !strings.Contains(errs.Error(), want) {
			t.Errorf("got %v, want %q in it", errs, want)
		}
	}
	if errs := compareLists("a: 1\n", "a: 1\n"); len(errs) > 0 {
		t.Errorf("the same: got %v", errs)
	}
}

func TestFailFilesComeOutAsTheyExpect(t *testing.T) {
	paths, fails, err := shrink.LoadFails(failFiles)
	if err != nil {
		t.Error(err)
	}
	for i, f := range fails {
		t.Run(strings.TrimPrefix(paths[i], failFiles+"/"), func(t *testing.T) {
			if err := f.Play(t.Context(), checksOf(f.Scenario)); err != nil {
				t.Error(err)
			}
		})
	}
}
