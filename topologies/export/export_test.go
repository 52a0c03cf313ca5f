package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

var equal = cmp.Options{cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmpopts.EquateEmpty()}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("BAGRIG_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, string(want)); diff != "" {
		t.Errorf("%s (-got +want, BAGRIG_UPDATE=1 rewrites it):\n%s", file, diff)
	}
}

func mustWrite(t *testing.T, format string, top *topologies.Topology) []byte {
	t.Helper()
	data, err := Write(format, top)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func mustRead(t *testing.T, file string) *topologies.Topology {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	top, err := topologies.Read(file, data)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// examples are the presets and a topology that has what no preset has.
func examples(t *testing.T) map[string]*topologies.Topology {
	t.Helper()
	list := map[string]*topologies.Topology{"odd": mustRead(t, "testdata/odd.yaml")}
	for _, name := range topologies.Presets() {
		top, err := topologies.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		list[name] = top
	}
	return list
}

func TestGoldens(t *testing.T) {
	for name, top := range examples(t) {
		if name != "odd" && name != "prometheus-mini" {
			continue
		}
		for _, format := range Formats() {
			if format == YAML {
				continue // package topologies has its own
			}
			golden(t, filepath.Join("testdata", name+"."+format), string(mustWrite(t, format, top)))
		}
	}
}

func TestWhatIsWrittenReadsBackEqual(t *testing.T) {
	read := map[string]func([]byte) (*topologies.Topology, error){
		JSON: func(data []byte) (*topologies.Topology, error) { return topologies.Read("t.json", data) },
		YAML: func(data []byte) (*topologies.Topology, error) { return topologies.Read("t.yaml", data) },
		Clab: func(data []byte) (*topologies.Topology, error) {
			top, notes, err := ReadClab("t.clab.yml", data)
			if len(notes) > 0 {
				err = fmt.Errorf("left out: %q", notes)
			}
			return top, err
		},
		DOT: readDOT,
	}
	for name, top := range examples(t) {
		for format, read := range read {
			data := mustWrite(t, format, top)
			if name == "petabit" && len(data) > yamltree.MaxBytes {
				continue // larger than a file may be; its description and its explicit form are not
			}
			back, err := read(data)
			if err != nil {
				t.Errorf("%s as %s: %v", name, format, err)
				continue
			}
			if diff := cmp.Diff(back, top, equal); diff != "" {
				t.Errorf("%s as %s: got (-) want (+):\n%s", name, format, diff)
			}
		}
	}
}

func TestJSONIsJSON(t *testing.T) {
	for name, top := range examples(t) {
		if !json.Valid(mustWrite(t, JSON, top)) {
			t.Errorf("%s: got no JSON", name)
		}
	}
}

// A field of the model that the tables lack would be lost on the way.
func TestTablesHaveEveryFieldOfTheModel(t *testing.T) {
	for _, c := range []struct {
		model any
		names []string
	}{
		{topologies.Device{}, fieldNames(deviceFields)},
		{topologies.Bundle{}, fieldNames(bundleFields)},
	} {
		model := reflect.TypeOf(c.model)
		var want []string
		for i := range model.NumField() {
			want = append(want, strings.ToLower(model.Field(i).Name))
		}
		if diff := cmp.Diff(c.names, want); diff != "" {
			t.Errorf("%s: got (-) want (+):\n%s", model.Name(), diff)
		}
	}
}

func fieldNames[T any](fields []field[T]) (names []string) {
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

func TestWriteRefusesWhatCannotBeWritten(t *testing.T) {
	odd := mustRead(t, "testdata/odd.yaml")
	dash := mustRead(t, "testdata/odd.yaml")
	dash.Name = "-x"
	node := mustRead(t, "testdata/odd.yaml")
	node.Devices[6].Name, node.Bundles[11].B = "_wan", "_wan"
	bad := mustRead(t, "testdata/odd.yaml")
	bad.Devices[0].ASN = 0
	for _, c := range []struct {
		format string
		top    *topologies.Topology
		want   string
	}{
		{"png", odd, `format "png": want one of dot, json, svg, clab, yaml`},
		{DOT, bad, "asn 0: reserved"},
		{Clab, dash, `topology "-x": name: want a letter or digit first`},
		{Clab, node, `device "_wan": name: want a letter or digit first`},
	} {
		if data, err := Write(c.format, c.top); err == nil || !strings.Contains(err.Error(), c.want) || data != nil {
			t.Errorf("%s: got %d bytes and %v, want none and %q", c.format, len(data), err, c.want)
		}
	}
}

func TestTheSameComesOutEveryTime(t *testing.T) {
	top := examples(t)["prometheus"]
	for _, format := range Formats() {
		once := mustWrite(t, format, top)
		for range 3 {
			if !bytes.Equal(mustWrite(t, format, top), once) {
				t.Errorf("%s differs from one time to the next", format)
			}
		}
	}
}
