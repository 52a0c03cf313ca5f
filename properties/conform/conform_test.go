package conform_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bagrig/bagrig/properties/conform"
	"github.com/bagrig/bagrig/properties/conform/inprocess"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// deviationsFile is the list that the interop lane uses too.
const deviationsFile = "../../ci/interop/deviations.yaml"

func deviations(t *testing.T) conform.Deviations {
	t.Helper()
	data, err := os.ReadFile(deviationsFile)
	if err != nil {
		t.Fatal(err)
	}
	list, err := conform.ReadDeviations(deviationsFile, data)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// device is one that lives in this process.
type device interface {
	Device() conform.Device
	Peers() []netip.Addr
	Close() error
}

// devices start those that there are; one runs at a time.
var devices = []struct {
	name  string
	start func() (device, error)
}{
	{"bagrig", func() (device, error) { return inprocess.StartSpeaker(context.Background()) }},
	{"gobgp", func() (device, error) { return inprocess.StartGoBGP(context.Background()) }},
}

func judge(t *testing.T, i int, checks []conform.Check) *conform.Report {
	t.Helper()
	d, err := devices[i].start()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	report, err := conform.Run(context.Background(), d.Device(), conform.Options{Local: d.Peers(), Checks: checks})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestDevicesOfThisProcessConformButForWhatIsListed(t *testing.T) {
	for i, d := range devices {
		t.Run(d.name, func(t *testing.T) {
			report := judge(t, i, nil)
			deviations(t).Apply(report)
			if n := report.Counts(); !report.Held() || n[conform.Passed] < 40 {
				t.Errorf("want no unlisted difference and at least 40 checks that pass, got\n%s", conform.Table(report))
			}
		})
	}
}

// Whatever a check expects, a device that does something else must fail it: so
// each expectation is replaced by one that no device can meet.
func TestAWrongExpectationIsNoticed(t *testing.T) {
	checks := conform.Catalogue()
	for i := range checks {
		checks[i].Accept = []string{"planted"}
	}
	report := judge(t, 0, checks)
	deviations(t).Apply(report)
	if n := report.Counts(); n[conform.Passed] > 0 || n[conform.Errored] > 0 || n[conform.Failed] < 80 {
		t.Errorf("got %v: want every check that applies to fail", n)
	}
}

// A wrong expectation of the plausible kind, each on the device that does what
// is right or is listed.
func TestAPlausibleWrongExpectationIsNoticed(t *testing.T) {
	for _, tc := range []struct {
		device       int
		check, wrong string
		want         string // in the reason
	}{
		{0, "value-negative", "kept", `got "stripped": want "kept"`},
		{0, "sum-without-32", "1600M", `got "1280M": want "1600M"`},
		{0, "increase-held", "400000M", `got "200000M": want "400000M"`},
		{1, "nt-ebgp-to-ebgp", "kept", "no longer occurs"},
		{1, "withdrawal", "stale", `got "withdrawn": want "stale"`},
	} {
		t.Run(tc.check, func(t *testing.T) {
			checks, err := conform.Select([]string{tc.check})
			if err != nil {
				t.Fatal(err)
			}
			checks[0].Accept = []string{tc.wrong}
			report := judge(t, tc.device, checks)
			deviations(t).Apply(report)
			if r := report.Results[0]; r.Verdict != conform.Failed || !strings.Contains(r.Reason, tc.want) {
				t.Errorf("got %s, %q: want a failure that says %q", r.Verdict, r.Reason, tc.want)
			}
		})
	}
}

func TestCatalogueIsNamedAndReferenced(t *testing.T) {
	checks := conform.Catalogue()
	if len(checks) < 40 || len(checks) > 255 {
		t.Errorf("%d checks: want at least 40, and a prefix for each", len(checks))
	}
	var names []string
	refs := map[string]bool{}
	for _, c := range checks {
		if slices.Contains(names, c.Name) {
			t.Errorf("check %q: named twice", c.Name)
		}
		names = append(names, c.Name)
		if c.Sent == "" || len(c.Accept) == 0 || len(c.Refs) == 0 {
			t.Errorf("check %q: sent %q, accepts %q, references %q: want all", c.Name, c.Sent, c.Accept, c.Refs)
		}
		for _, ref := range c.Refs {
			refs[strings.TrimSpace(ref)] = true
			if !strings.HasPrefix(ref, "RFC ") && !strings.HasPrefix(ref, "RT-") && !strings.HasPrefix(ref, "TE-") {
				t.Errorf("check %q: reference %q: want an RFC's section or a test plan", c.Name, ref)
			}
		}
		for _, f := range c.Needs {
			if conform.Facilities[f] == "" {
				t.Errorf("check %q: needs %q, which is no facility", c.Name, f)
			}
		}
	}
	for _, plan := range []string{"RT-1.52", "RT-7.5", "RT-7.6", "RT-7.51", "TE-3.2"} {
		if !refs[plan] {
			t.Errorf("no check refers to %s", plan)
		}
	}
	prefixes := conform.Prefixes()
	slices.SortFunc(prefixes, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	if len(slices.Compact(prefixes)) != len(conform.Prefixes()) {
		t.Error("two checks share a prefix")
	}
}

// A check of a name that is not there is an error that lists the names.
func TestSelectRefusesUnknownNames(t *testing.T) {
	if _, err := conform.Select([]string{"withdrawal", "nonsense"}); err == nil || !strings.Contains(err.Error(), `"nonsense"`) || !strings.Contains(err.Error(), "t-ebgp-to-ebgp") {
		t.Errorf("got %v: want the name and the list", err)
	}
}

func Example() {
	device, err := inprocess.StartSpeaker(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer device.Close()
	checks, _ := conform.Select([]string{"value-zero", "sum-of-64"})
	report, err := conform.Run(context.Background(), device.Device(), conform.Options{Local: device.Peers(), Checks: checks})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Results {
		fmt.Println(r.Name, r.Verdict, r.Got, r.Refs)
	}
	// Output:
	// value-zero pass own, T and NT [RFC 10005 4]
	// sum-of-64 pass 1600M [RFC 10005 3.4 RT-7.6]
}
