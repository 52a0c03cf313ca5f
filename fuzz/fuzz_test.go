package fuzz

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/shrink"
	"github.com/bagrig/bagrig/properties"
)

// failFiles are the failures that were found before.
const failFiles = "testdata/fails"

// shrinkTime is how long a failure is made smaller.
const shrinkTime = time.Minute

// mostBytes bounds the input: no case takes more.
const mostBytes = 400

// FuzzSchedule plays the case that the bytes stand for, with all properties. In a
// search what fails is printed as it was found, since Go ends a search that takes its
// time; `go test -run`, which Go names then, shrinks it and writes its fail file.
func FuzzSchedule(f *testing.F) {
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > mostBytes {
			return
		}
		sc := Case(data)
		reached, err := Play(t.Context(), sc)
		if err := properties.NoteReached(os.Getenv(properties.ReachedFolder), reached); err != nil {
			t.Error(err)
		}
		var failure *Failure
		switch {
		case errors.As(err, &failure):
			t.Fatalf("%v\n\n%s", failure, kept(sc, failure, searching(), failFiles))
		case err != nil:
			t.Fatalf("the case cannot be played: %v\n\n%s", err, printed(&shrink.Fail{Property: "none", Expect: shrink.Held, Scenario: sc}))
		}
	})
}

// searching tells whether this is a search, and not a run of what is in the corpus.
func searching() bool {
	fuzzing := flag.Lookup("test.fuzz")
	return fuzzing != nil && fuzzing.Value.String() != ""
}

// kept is what is said of a failure: its fail file, shrunk and written, unless there
// is no time for that.
func kept(sc *harness.Scenario, failure *Failure, quick bool, dir string) string {
	if quick {
		return printed(&shrink.Fail{
			Property: failure.Property, Expect: shrink.Held, How: "not shrunk yet: `go test -run` of the entry does, and writes the file", Scenario: sc,
			Story: shrink.Story(context.Background(), sc, checksOf(sc), failure.Property),
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), shrinkTime)
	defer cancel()
	f, err := Shrink(ctx, sc, failure)
	if err != nil {
		return fmt.Sprintf("not shrunk: %v\n\n%s", err, kept(sc, failure, true, dir))
	}
	path, err := f.Place(dir)
	if err == nil {
		f.Command = "bagrig replay fuzz/" + filepath.ToSlash(path)
		err = f.Write(path)
	}
	if err != nil {
		return fmt.Sprintf("not written: %v\n\n%s", err, printed(f))
	}
	return fmt.Sprintf("kept as %s:\n\n%s", path, printed(f))
}

func printed(f *shrink.Fail) string {
	text, err := f.Text()
	if err != nil {
		return fmt.Sprintf("no file can hold it: %v\n%v", err, f.Scenario.Events)
	}
	return string(text)
}

// randomBytes are inputs as a search tries them.
func randomBytes(r *rand.Rand) []byte {
	data := make([]byte, r.IntN(120))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// TestRandomBytesCanBePlayed plays what a search would begin with. What rules say of
// it is for the search; here it must come to an end.
func TestRandomBytesCanBePlayed(t *testing.T) {
	r, cases := rand.New(rand.NewPCG(1, 2)), 100
	if testing.Short() {
		cases = 20
	}
	for range cases {
		data := randomBytes(r)
		_, err := Play(t.Context(), Case(data))
		var failure *Failure
		if err != nil && !errors.As(err, &failure) || failure != nil && (failure.Property == shrink.Panic || failure.Property == shrink.NoConvergence) {
			t.Errorf("[]byte(%q): %v", data, err)
		}
	}
}

// BenchmarkSchedule plays the cases of random bytes, as many at a time as there are
// cores, as a search does.
func BenchmarkSchedule(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	inputs := make([][]byte, 500)
	for i := range inputs {
		inputs[i] = randomBytes(r)
	}
	started := time.Now()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			var failure *Failure
			if _, err := Play(context.Background(), Case(inputs[i%len(inputs)])); err != nil && !errors.As(err, &failure) {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/time.Since(started).Seconds(), "exec/s")
}

// failing is a case that fails: route flap damping that withdraws, and a flap.
func failing(t *testing.T) (*harness.Scenario, *Failure) {
	t.Helper()
	sc, err := harness.ReadScenario("x.yaml", []byte("topology: hub-mini\nengine: sim\ndamping: rfd-cisco\nevents:\n  - flap: {bundle: r1-f2-e2--r1-bag2, members: 20, count: 9, period: 11s}\n"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Play(t.Context(), sc)
	var failure *Failure
	if !errors.As(err, &failure) || failure.Property != properties.LivePathName {
		t.Fatalf("got %v, want %q violated", err, properties.LivePathName)
	}
	return sc, failure
}

func TestAFailureIsPrintedAsAFailFileInASearchAndKeptOutsideOne(t *testing.T) {
	sc, failure := failing(t)
	dir := t.TempDir()
	text := kept(sc, failure, true, dir)
	if f, err := shrink.ReadFail("printed", []byte(text)); err != nil || f.Property != failure.Property || len(f.Scenario.Events) != 1 || len(f.Story) < 2 {
		t.Errorf("in a search: got %+v and %v, want the whole fail file\n%s", f, err, text)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("in a search: got %v and %v, want nothing written", files, err)
	}
	text = kept(sc, failure, false, dir)
	paths, fails, err := shrink.LoadFails(dir)
	if err != nil || len(fails) != 1 || fails[0].Property != failure.Property || !strings.Contains(text, "kept as "+paths[0]) {
		t.Errorf("outside: got %v and %v, want one fail file\n%s", paths, err, text)
	}
	if got := len(fails[0].Scenario.Topology.Devices); got >= len(sc.Topology.Devices) {
		t.Errorf("outside: %d devices, want it shrunk", got)
	}
}
