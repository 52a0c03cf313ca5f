package conform

import (
	"encoding/xml"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bagrig/bagrig/harness/report/junit"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

// sample is a report with one result of each verdict.
func sample() *Report {
	check := func(name string) Check {
		return Check{Name: name, Refs: []string{"RFC 10005 4"}, Sent: "a question", Accept: []string{"kept"}}
	}
	return &Report{Device: "dut", Version: "8.4.4", Address: "10.0.0.1:179", ASN: 65010, Results: []Result{
		{Check: check("withdrawal"), Verdict: Passed, Got: "kept"},
		{Check: check("value-zero"), Verdict: Failed, Got: "stripped", Reason: `got "stripped": want "kept"`, Messages: []Message{{"a", "announce", "ffff"}}},
		{Check: check("value-negative"), Verdict: Failed, Got: "altered", Reason: "altered"},
		{Check: check("ipv6-t"), Verdict: NotApplicable, Reason: "no IPv6"},
		{Check: check("end-of-rib"), Verdict: Errored, Reason: "the marker did not come"},
	}}
}

const listed = `deviations:
  - {device: dut, version: 8.*, check: value-negative, got: altered, reason: a known one}
  - {device: dut, version: 9.*, check: value-zero, reason: another version}
  - {device: other, check: value-zero, reason: another device}
`

func TestListedDifferencesAreDeviationsAndOthersFail(t *testing.T) {
	list, err := ReadDeviations("d.yaml", []byte(listed))
	if err != nil {
		t.Fatal(err)
	}
	r := sample()
	list.Apply(r)
	want := []Verdict{Passed, Failed, Deviates, NotApplicable, Errored}
	for i, result := range r.Results {
		if result.Verdict != want[i] {
			t.Errorf("%s: got %s, want %s", result.Name, result.Verdict, want[i])
		}
	}
	if got := r.Results[2].Deviation; got != "a known one" || r.Held() {
		t.Errorf("got reason %q, held %t", got, r.Held())
	}
}

func TestAListedDifferenceThatDoesNotShowFails(t *testing.T) {
	for _, tc := range []struct{ name, entry, want string }{
		{"it passes", "{device: dut, check: withdrawal, reason: old}", `d.yaml:2 lists a deviation here that no longer occurs: got "kept"`},
		{"it differs otherwise", "{device: dut, check: value-zero, got: altered, reason: old}", `got "stripped": d.yaml:2 lists "altered"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			list, err := ReadDeviations("d.yaml", []byte("deviations:\n  - "+tc.entry+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			r := sample()
			list.Apply(r)
			for _, result := range r.Results {
				if result.Name == list[0].Check && (result.Verdict != Failed || !strings.Contains(result.Reason, tc.want)) {
					t.Errorf("got %s, %q: want a failure that says %q", result.Verdict, result.Reason, tc.want)
				}
			}
		})
	}
}

func TestDeviationsAreReadStrictly(t *testing.T) {
	_, err := ReadDeviations("d.yaml", []byte(`deviations:
  - {device: dut, check: no-such, reason: x}
  - {device: dut, check: withdrawal}
  - {device: dut, check: withdrawal, reason: x, extra: 1}
  - {device: dut, version: "[", check: value-zero, reason: x}
  - {check: value-zero, reason: x}
`))
	var errs *yamltree.Errs
	if !errors.As(err, &errs) {
		t.Fatalf("got %v: want a list of errors", err)
	}
	for _, want := range []string{
		`d.yaml:2:26: field "deviations[0].check": value "no-such": no such check`, `d.yaml:3:`, `"reason"`,
		`d.yaml:4:26: field "deviations[2].check": value "withdrawal": this device, version and check are listed before, at d.yaml:3`,
		`unknown field`, `d.yaml:5:28: field "deviations[3].version": value "[": want a pattern`, `d.yaml:6:`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got\n%v\nwant %q in it", err, want)
		}
	}
}

func TestReportsSayWhatWasSentAndHeard(t *testing.T) {
	r := sample()
	table := Table(r)
	for _, want := range []string{
		"dut 8.4.4 at 10.0.0.1:179, ASN 65010", "withdrawal      pass            kept      RFC 10005 4",
		"fail value-zero: got \"stripped\": want \"kept\"\n  asked  a question\n  sent   a: announce\n         ffff\n  heard  nothing about it",
		"5 checks: 1 pass, 2 fail, 0 listed deviations, 1 not applicable, 1 errors",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("got\n%s\nwant %q in it", table, want)
		}
	}
	other := sample()
	other.Device, other.Results = "other", other.Results[:2]
	matrix := Matrix([]*Report{r, other})
	for _, want := range []string{
		"check                    dut 8.4.4  other 8.4.4\n", "value-zero               FAIL stripped  FAIL stripped\n",
		"end-of-rib               ERROR          -\n", "pass / deviation / fail  1 / 0 / 3      1 / 0 / 1\n",
	} {
		if !strings.Contains(strings.Join(strings.Fields(matrix), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("got\n%s\nwant %q in it", matrix, want)
		}
	}
	if md := Markdown([]*Report{r}); !strings.HasPrefix(md, "| check | dut 8.4.4 |\n|---|---|\n| withdrawal | kept |\n") {
		t.Errorf("got %q", md)
	}
}

func TestJSONReadsBackAndJUnitCounts(t *testing.T) {
	r := sample()
	data, err := JSON([]*Report{r})
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadJSON(data)
	if err != nil || len(back) != 1 {
		t.Fatal(back, err)
	}
	if diff := cmp.Diff(r.Results[1].Messages, back[0].Results[1].Messages); diff != "" || back[0].Results[1].Name != "value-zero" {
		t.Errorf("read back differs: %s", diff)
	}
	data, err = JUnit([]*Report{r})
	if err != nil {
		t.Fatal(err)
	}
	var s junit.Document
	if err := xml.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	got := s.Suites[0]
	if got.Tests != 5 || got.Failures != 2 || got.Errors != 1 || got.Skipped != 1 || got.Cases[1].Failure == nil || got.Cases[3].Skipped == nil {
		t.Errorf("got %+v", got)
	}
}
