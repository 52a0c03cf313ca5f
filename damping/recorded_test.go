package damping

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRecordingsAreTheFilesOfTheFolder(t *testing.T) {
	want := recordings(t)
	slices.Sort(want)
	if d := cmp.Diff(Recordings(), want); d != "" {
		t.Errorf("-got +want\n%s", d)
	}
	for _, name := range want {
		got, err := Recording(name)
		if d := cmp.Diff(got, recorded(t, name)); d != "" || err != nil {
			t.Errorf("%s: error %v, -got +want\n%s", name, err, d)
		}
		if got, want := MostMembers(got), members(got); got != want {
			t.Errorf("%s: got %d members at most, want %d", name, got, want)
		}
	}
}

func TestAnUnknownRecordingIsQuotedWithTheKnownOnes(t *testing.T) {
	for _, name := range []string{"nope", "", "../series/fibre-cut", "fibre-cut.csv"} {
		_, err := Recording(name)
		if err == nil || !strings.HasPrefix(err.Error(), `series "`+name+`": want one of fibre-cut, `) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}
