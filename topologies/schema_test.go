package topologies

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/bagrig/bagrig/topologies/yamltree"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Schema()))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// judge asks the schema about a document of YAML or JSON.
func judge(t *testing.T, s *jsonschema.Schema, data []byte) error {
	t.Helper()
	var document any
	if err := yaml.UnmarshalWithOptions(data, &document, yaml.AllowDuplicateMapKey()); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestPublishedSchemaIsThatOfTheTable(t *testing.T) {
	golden(t, "schema.json", printSchema(fileShape()))
	if printSchema(variants()[1]) != printSchema(fileShape()) {
		t.Error("the variants print different schemas")
	}
}

// example gives the example document in JSON's spelling, changed at a path.
func example(t *testing.T, v shape, path []string, change func(any) any) []byte {
	t.Helper()
	data, err := json.Marshal(v.build(path, change))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(data, []byte(`":`), []byte(`": `)), []byte(`,"`), []byte(`, "`))
}

// visitAll visits the values of all variants, each with its variant.
func visitAll(see func(file shape, path []string, v shape)) {
	for _, file := range variants() {
		file.visit(nil, func(path []string, v shape) { see(file, path, v) })
	}
}

// complaints are the reader's errors about one field.
func complaints(data []byte, field string) (list []*yamltree.Error) {
	_, err := Read("t.yaml", data)
	var errs *yamltree.Errs
	if errors.As(err, &errs) {
		for _, e := range errs.List {
			if e.Field == field {
				list = append(list, e)
			}
		}
	}
	return list
}

func wants(list []*yamltree.Error) string {
	var all []string
	for _, e := range list {
		all = append(all, e.Want)
	}
	return strings.Join(all, "; ")
}

var quotedWord = regexp.MustCompile(`"([^"]*)"`)

func words(s string) (list []string) {
	for _, m := range quotedWord.FindAllStringSubmatch(s, -1) {
		list = append(list, m[1])
	}
	return list
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func with(name string, v any) func(any) any {
	return func(object any) any {
		m := object.(map[string]any)
		if v == nil {
			delete(m, name)
		} else {
			m[name] = v
		}
		return m
	}
}

func instead(v any) func(any) any { return func(any) any { return v } }

// The schema's fields are those that the reader lists when it refuses an
// unknown one, and both say the same of what must be there.
func TestSchemaHasTheFieldsThatTheReaderKnows(t *testing.T) {
	s := compiled(t)
	visitAll(func(file shape, path []string, v shape) {
		if v.fields == nil {
			return
		}
		at := fieldName(path)
		data := example(t, file, path, with("zzz", 1))
		found := complaints(data, strings.TrimPrefix(at+".zzz", "."))
		if len(found) != 1 || !strings.HasPrefix(found[0].Want, "unknown field") {
			t.Errorf("%s: got %q for an unknown field, want the known ones", at, wants(found))
			return
		}
		var known []string
		for _, f := range v.fields {
			known = append(known, f.name)
		}
		if got := words(found[0].Want); !slices.Equal(sorted(got), sorted(known)) {
			t.Errorf("%s: the reader knows %q, the table has %q", at, got, known)
		}
		if judge(t, s, data) == nil {
			t.Errorf("%s: the schema takes an unknown field", at)
		}
		for _, f := range v.fields {
			if f.apart {
				continue
			}
			checkNeeded(t, s, file, path, f)
		}
	})
}

func checkNeeded(t *testing.T, s *jsonschema.Schema, file shape, path []string, f fieldShape) {
	t.Helper()
	at := fieldName(path)
	in := append(path[:len(path):len(path)], f.name)
	data := example(t, file, in, instead(nil))
	missing := strings.Contains(wants(complaints(data, at)), fmt.Sprintf("missing field %q", f.name))
	refused := judge(t, s, data) != nil
	exclusive := f.group != "" && f.group != "generator" && f.group != "explicit" // the reader then wants one of them
	if exclusive {
		missing = strings.Contains(wants(complaints(data, at)), "exactly one of")
	}
	if f.group == "generator" {
		missing = f.need // without it the file is of the explicit form
	}
	want := f.need || at == "generate.bundles" && f.name == "bag-bag" && !joined(file) // of which the example's two regions need bundles
	if missing != want || refused != want {
		t.Errorf("%s: without %q: reader says missing: %v, schema refuses: %v, want both %v", at, f.name, missing, refused, want)
	}
}

// joined tells whether the variant's example has joins.
func joined(file shape) bool {
	for _, f := range file.fields[1].fields {
		if f.name == "joins" {
			return !f.apart
		}
	}
	return false
}

func TestOneRegionNeedsNoBundlesBetweenRegions(t *testing.T) {
	data := example(t, fileShape(), []string{"generate"}, func(g any) any {
		m := g.(map[string]any)
		m["regions"] = 1
		delete(m["bundles"].(map[string]any), "bag-bag")
		return m
	})
	if found := complaints(data, "generate.bundles"); len(found) > 0 {
		t.Errorf("the reader says %q", wants(found))
	}
	if err := judge(t, compiled(t), data); err != nil {
		t.Error(err)
	}
}

func TestSchemaHasTheWordsThatTheReaderKnows(t *testing.T) {
	s, seen := compiled(t), 0
	visitAll(func(file shape, path []string, v shape) {
		if v.words == nil {
			return
		}
		seen++
		at := fieldName(path)
		data := example(t, file, path, instead("zzz"))
		if got := words(wants(complaints(data, at))); !slices.Equal(sorted(got), sorted(v.words)) &&
			!slices.Equal(sorted(strings.Split(strings.TrimPrefix(wants(complaints(data, at)), "want "), ", ")), sorted(v.words)) {
			t.Errorf("%s: the reader knows %q, the table has %q", at, wants(complaints(data, at)), v.words)
		}
		if judge(t, s, data) == nil {
			t.Errorf("%s: the schema takes an unknown word", at)
		}
		for _, w := range v.words {
			data := example(t, file, path, instead(w))
			if found := complaints(data, at); len(found) > 0 || judge(t, s, data) != nil {
				t.Errorf("%s: %q: reader says %q, schema %v", at, w, wants(found), judge(t, s, data))
			}
		}
	})
	if seen < 4 {
		t.Errorf("got %d enumerations, want those of roles, kinds and plans", seen)
	}
}

func TestSchemaHasTheBoundsThatTheReaderKnows(t *testing.T) {
	s := compiled(t)
	visitAll(func(file shape, path []string, v shape) {
		if v.bounds == nil {
			return
		}
		at := fieldName(path)
		lo, hi := v.bounds[0], v.bounds[1]
		for _, n := range []int64{lo - 1, hi + 1} {
			data := example(t, file, path, instead(n))
			found := wants(complaints(data, at))
			if want := fmt.Sprintf("want %d to %d", lo, hi); !strings.Contains(found, want) && !(v.loose && found != "") {
				t.Errorf("%s: %d: reader says %q, want %q", at, n, found, want)
			}
			if judge(t, s, data) == nil {
				t.Errorf("%s: the schema takes %d", at, n)
			}
		}
		for _, n := range []int64{lo, hi} {
			if err := judge(t, s, example(t, file, path, instead(n))); err != nil {
				t.Errorf("%s: the schema refuses %d: %v", at, n, err)
			}
		}
	})
}

// A value of another kind is refused by both wherever it stands.
func TestSchemaRefusesOtherKindsWhereTheReaderDoes(t *testing.T) {
	s := compiled(t)
	visitAll(func(file shape, path []string, v shape) {
		at := fieldName(path)
		for _, other := range []any{[]any{map[string]any{}}, map[string]any{"zzz": 1}, "a b/c", -1, 1.5, nil} {
			data := example(t, file, path, func(any) any {
				if other == nil {
					return json.RawMessage("null")
				}
				return other
			})
			_, err := Read("t.yaml", data)
			if err != nil && judge(t, s, data) == nil {
				for _, e := range complaints(data, at) {
					t.Errorf("%s: %v: the schema takes it, the reader says %q", at, other, e.Want)
				}
			}
		}
	})
}

func TestSchemaTakesPresetsAndWhatIsWritten(t *testing.T) {
	s := compiled(t)
	files, err := filepath.Glob("presets/*.yaml")
	if err != nil || len(files) != len(Presets()) {
		t.Fatalf("got %d files, %v, want %d", len(files), err, len(Presets()))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := judge(t, s, data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for seed := range int64(20) {
		data, err := Write(randomTopology(seed))
		if err != nil {
			t.Fatal(err)
		}
		if err := judge(t, s, data); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

func TestSchemaRefusesFilesOfABadShape(t *testing.T) {
	s := compiled(t)
	// What only a reader of the whole network sees, and what is no YAML of the
	// dialect at all.
	network := []string{"apart", "generate-apart", "generate-ports", "generate-too-large"}
	dialect := []string{"generate", "syntax", "two-documents"}
	files, err := filepath.Glob("testdata/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		if slices.Contains(dialect, name) {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(data)) == 0 {
			data = []byte("null")
		}
		refused := judge(t, s, data) != nil
		if refused == slices.Contains(network, name) {
			t.Errorf("%s: the schema refuses it: %v, want %v", file, refused, !refused)
		}
	}
}
