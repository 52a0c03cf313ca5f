package export

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

func readLab(t *testing.T, file string) (*topologies.Topology, []string, error) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return ReadClab(filepath.Base(file), data)
}

func TestALabThatSomebodyHasBecomesATopology(t *testing.T) {
	top, notes, err := readLab(t, "testdata/lab.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/lab.yaml", string(mustWrite(t, YAML, top)))
	want := []string{
		`node "traffic" is no device: left out`,
		`node "br0" is no device: left out`,
		`topology.links[8] leads to "traffic", which is no device: left out`,
		`topology.links[9] leads to "host", which is no device: left out`,
		`topology.links[10] of type "mgmt-net" joins no two devices: left out`,
	}
	if diff := cmp.Diff(notes, want); diff != "" {
		t.Errorf("notes: got (-) want (+):\n%s", diff)
	}
}

func TestParallelLinksAreTheMembersOfOneBundle(t *testing.T) {
	top, _, err := readLab(t, "testdata/lab.clab.yml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, b := range top.Bundles {
		got[b.Name] = b.Members
	}
	want := map[string]int{
		"leaf1--edge1": 2, "leaf1--edge2": 1, "edge1--bag1": 1, "bag1--bag2": 2,
		"edge2--bag2": 8, "edge2--bag2#2": 1, // of other speeds
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("got (-) want (+):\n%s", diff)
	}
}

// Every file in testdata/bad is refused with exactly the errors of its golden.
func TestBadLabsAreRefusedWithPositionAndWhatWasWanted(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.yml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v, want some", len(files), err)
	}
	for _, file := range files {
		top, _, err := readLab(t, file)
		var errs *yamltree.Errs
		if top != nil || !errors.As(err, &errs) {
			t.Errorf("%s: got a topology: %v, and %T, want none and *Errs", file, top != nil, err)
			continue
		}
		golden(t, strings.TrimSuffix(file, ".yml")+".golden", err.Error()+"\n")
	}
}

func TestTheGuardOfOtherFilesGuardsLabsToo(t *testing.T) {
	for want, data := range map[string]string{
		"want at most 4194304":       "name: x\n" + strings.Repeat("#\n", 3<<20),
		"nesting is deeper than 64":  "name: " + strings.Repeat("[", 70),
		"a mapping of more than 409": "name: x\ntopology:\n  nodes:\n" + strings.Repeat("    a:\n      b: c\n", 5000),
	} {
		if _, _, err := ReadClab("t.yml", []byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// One label of the defaults counts at every node: a file of 300 KB would else
// become gigabytes.
func TestSharedPrefixesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: x\ntopology:\n  defaults:\n    labels:\n      bagrig.role: bag\n      bagrig.asn: 1\n      bagrig.asic: x\n      bagrig.originates: \"")
	for i := range 10_000 {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "10.%d.%d.0/24", i/256, i%256)
	}
	b.WriteString("\"\n  nodes:\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "    n%d: {}\n", i)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := ReadClab("t.yml", []byte(b.String()))
	runtime.ReadMemStats(&after)
	if want := `t.yml:8:26: field "topology.defaults.labels.bagrig.originates"`; err == nil || !strings.Contains(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), `with those of the nodes before "n52" these are more than 524288 prefixes of devices, one that many nodes share counted at each: want at most 524288`) {
		t.Errorf("got %.300v, want %s", err, want)
	}
	if got := (after.TotalAlloc - before.TotalAlloc) >> 20; got > 512 {
		t.Errorf("got %d MiB allocated, want at most 512", got)
	}
}

// The schema is containerlab's own; it is not ours to keep a copy of.
func TestContainerlabTakesWhatIsWritten(t *testing.T) {
	file := os.Getenv("BAGRIG_CLAB_SCHEMA")
	if file == "" {
		t.Skip("BAGRIG_CLAB_SCHEMA names no schema")
	}
	schema, err := jsonschema.NewCompiler().Compile(file)
	if err != nil {
		t.Fatal(err)
	}
	labs := map[string][]byte{}
	for name, top := range examples(t) {
		labs[name] = mustWrite(t, Clab, top)
	}
	if labs["lab.clab.yml"], err = os.ReadFile("testdata/lab.clab.yml"); err != nil {
		t.Fatal(err)
	}
	for name, data := range labs {
		if err := schema.Validate(asJSON(t, data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A validator that takes everything would not be noticed above.
	if err := schema.Validate(asJSON(t, bytes.Replace(labs["odd"], []byte("group: bag"), []byte("grouping: bag"), 1))); err == nil {
		t.Error("got no error for a field that containerlab does not know")
	}
}

// asJSON gives a YAML document in the types that the validator takes.
func asJSON(t *testing.T, data []byte) any {
	t.Helper()
	text, err := yaml.YAMLToJSON(data)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// FuzzReadClab: no bytes make ReadClab panic, and what it takes is a valid
// topology that becomes the same again.
func FuzzReadClab(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yml", "testdata/bad/*.yml", "testdata/odd.clab"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		top, _, err := ReadClab("f.yml", data)
		if err != nil {
			return
		}
		written, err := Write(Clab, top)
		if err != nil {
			return // a name that only containerlab minds
		}
		back, _, err := ReadClab("g.yml", written)
		if err != nil {
			t.Fatalf("%v\nin\n%s", err, written)
		}
		if diff := cmp.Diff(back, top, equal); diff != "" {
			t.Fatalf("got (-) want (+):\n%s\nfrom\n%s", diff, written)
		}
	})
}
