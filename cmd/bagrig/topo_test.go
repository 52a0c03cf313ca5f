package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/export"
)

func TestTopoPrints(t *testing.T) {
	const own, exports = "testdata/topo/", "../../topologies/export/testdata/prometheus-mini."
	for _, c := range []struct {
		golden string
		args   []string
	}{
		{own + "lab.yaml", []string{"import", "clab", "testdata/topo/lab.clab.yml"}}, // which the others read
		{own + "list.txt", []string{"list"}},
		{own + "show.txt", []string{"show", "prometheus"}},
		{own + "show-file.txt", []string{"show", "testdata/topo/lab.yaml"}},
		{own + "validate.txt", []string{"validate", "testdata/topo/lab.yaml", "spread-mini"}},
		{own + "expand.yaml", []string{"expand", "spread-mini"}},
		{own + "import-clab.txt", []string{"import", "clab", "--help"}},
		{exports + "dot", []string{"export", "--format", "dot", "prometheus-mini"}},
		{exports + "json", []string{"export", "--format", "json", "prometheus-mini"}},
		{exports + "svg", []string{"export", "--format", "svg", "prometheus-mini"}},
		{exports + "clab", []string{"export", "--format", "clab", "prometheus-mini"}},
	} {
		got := bagrig(t, append([]string{"topo"}, c.args...)...)
		if got.code != exitHeld {
			t.Errorf("%v: got exit status %d: %s", c.args, got.code, got.stderr)
		}
		golden(t, c.golden, got.stdout)
	}
}

func TestTopoExportWritesIntoAFile(t *testing.T) {
	for _, format := range export.Formats() {
		file := filepath.Join(t.TempDir(), "out")
		got := bagrig(t, "topo", "export", "--format", format, "-o", file, "prometheus-mini")
		if got.code != exitHeld || got.stdout+got.stderr != "" {
			t.Errorf("%s: got exit status %d, stdout %q, stderr %q, want %d and nothing", format, got.code, got.stdout, got.stderr, exitHeld)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if printed := bagrig(t, "topo", "export", "--format", format, "prometheus-mini").stdout; string(data) != printed {
			t.Errorf("%s: the file holds %d bytes, and %d are printed", format, len(data), len(printed))
		}
	}
}

// What one command prints another one takes.
func TestWhatTopoPrintsTopoReads(t *testing.T) {
	folder := t.TempDir()
	want := bagrig(t, "topo", "expand", "prometheus").stdout
	for _, format := range []string{export.YAML, export.JSON} {
		file := filepath.Join(folder, "t."+format)
		if got := bagrig(t, "topo", "export", "--format", format, "-o", file, "prometheus"); got.code != exitHeld {
			t.Fatal(got.stderr)
		}
		if got := bagrig(t, "topo", "expand", file); got.stdout != want {
			t.Errorf("%s: what comes back is another topology: %s", format, got.stderr)
		}
	}
	file := filepath.Join(folder, "t.clab.yml")
	if got := bagrig(t, "topo", "export", "--format", "clab", "-o", file, "prometheus"); got.code != exitHeld {
		t.Fatal(got.stderr)
	}
	if got := bagrig(t, "topo", "import", "clab", file); got.stdout != want || got.stderr != "" {
		t.Errorf("clab: what comes back is another topology: %s", got.stderr)
	}
}

func TestTopoImportNotesWhatItLeavesOut(t *testing.T) {
	got := bagrig(t, "topo", "import", "clab", "testdata/topo/lab.clab.yml")
	const want = "bagrig: note: node \"traffic\" is no device: left out\n" +
		"bagrig: note: topology.links[3] leads to \"traffic\", which is no device: left out\n"
	if got.stderr != want {
		t.Errorf("got %q, want %q", got.stderr, want)
	}
}

func TestTopoSchemaIsJSON(t *testing.T) {
	if got := bagrig(t, "topo", "schema"); !json.Valid([]byte(got.stdout)) || got.stdout != string(topologies.Schema()) {
		t.Errorf("got %d bytes, want the schema", len(got.stdout))
	}
}

func TestBadInputToTopoIsNamed(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none", "x.svg")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"show"}, []string{"accepts 1 arg"}},
		{[]string{"show", "prometheus-maxi"}, []string{`topology "prometheus-maxi": no such file, and not one of the presets ai-zone,`}},
		{[]string{"show", "testdata"}, []string{"topology: testdata: not a regular file"}},
		{[]string{"show", "/dev/zero"}, []string{"/dev/zero: not a regular file"}},
		{[]string{"expand", "testdata/topo/bad.yaml"}, []string{
			`bagrig: testdata/topo/bad.yaml:4:44: field "devices[0].asn": value "0": want 1 to`,
			`bagrig: testdata/topo/bad.yaml:7:29: field "bundles[0].members": value "5000": want 1 to 4096`,
		}},
		{[]string{"export", "prometheus"}, []string{`--format "": want one of dot, json, svg, clab, yaml`}},
		{[]string{"export", "--format", "png", "prometheus"}, []string{`--format "png": want one of`}},
		{[]string{"export", "--format", "svg", "-o", missing, "prometheus"}, []string{"--output: ", missing}},
		{[]string{"import", "clab", "no-such.yml"}, []string{`lab "no-such.yml": no such file`}},
		{[]string{"import", "clab", "testdata/topo"}, []string{"lab: testdata/topo: not a regular file"}},
		{[]string{"import", "clab", "testdata/topo/bad.clab.yml"}, []string{
			`bagrig: testdata/topo/bad.clab.yml:4:5: field "topology.nodes.leaf1": value "leaf1": want a role (label bagrig.role`,
		}},
		{[]string{"import", "gns3"}, []string{`unknown command "gns3"`}},
		{[]string{"draw"}, []string{`unknown command "draw"`}},
	} {
		got := bagrig(t, append([]string{"topo"}, c.args...)...)
		if got.code != exitBad || got.stdout != "" {
			t.Errorf("%v: got exit status %d and on stdout %q, want %d and nothing", c.args, got.code, got.stdout, exitBad)
		}
		wantAll(t, strings.Join(c.args, " "), got.stderr, c.want...)
	}
}

func TestTopoValidateGoesOnAfterABadFile(t *testing.T) {
	got := bagrig(t, "topo", "validate", "testdata/topo/bad.yaml", "prometheus-mini", "testdata/no-such.yaml")
	if want := "prometheus-mini: good: "; got.code != exitBad || !strings.HasPrefix(got.stdout, want) {
		t.Errorf("got exit status %d and on stdout %q, want %d and %q", got.code, got.stdout, exitBad, want)
	}
	wantAll(t, "stderr", got.stderr, "bad.yaml:4:", "bad.yaml:7:", `"testdata/no-such.yaml": no such file`)
}

const topoPage = root + "/docs/topo-command.md"

// topoPlot is a command of the page that makes a picture, run at the root.
var topoPlot = regexp.MustCompile(`(?m)^    bagrig (topo export --format svg) -o (docs/plots/[a-z0-9-]+\.svg) ([a-z-]+)$`)

func TestPicturesOfTheTopologyPageAreWhatItsCommandsMake(t *testing.T) {
	page, err := os.ReadFile(topoPage)
	if err != nil {
		t.Fatal(err)
	}
	found := topoPlot.FindAllStringSubmatch(string(page), -1)
	if len(found) < 2 {
		t.Fatalf("got %d commands that draw, want those of the small and the large preset", len(found))
	}
	for _, match := range found {
		if image := "](" + strings.TrimPrefix(match[2], "docs/") + ")\n\n" + match[0]; !strings.Contains(string(page), image) {
			t.Errorf("%s: want its picture above its command", match[2])
		}
		got := bagrig(t, append(strings.Fields(match[1]), match[3])...)
		if got.code != exitHeld {
			t.Errorf("%s: got exit status %d: %s", match[0], got.code, got.stderr)
		}
		if len(got.stdout) > 100_000 {
			t.Errorf("%s: %d bytes, want at most 100,000", match[2], len(got.stdout))
		}
		golden(t, filepath.Join(root, match[2]), got.stdout)
	}
}

func TestTopologyPageSaysWhatTheCommandsSay(t *testing.T) {
	page, err := os.ReadFile(topoPage)
	if err != nil {
		t.Fatal(err)
	}
	nodes, links := export.Labels()
	for _, label := range append(nodes, links...) {
		if !strings.Contains(string(page), "`"+label+"`") {
			t.Errorf("the page does not name the label %s", label)
		}
	}
	const prompt = "    $ bagrig "
	shown := 0
	var b strings.Builder
	rest := string(page)
	for {
		before, after, found := strings.Cut(rest, prompt)
		b.WriteString(before)
		if !found {
			break
		}
		shown++
		line, after, _ := strings.Cut(after, "\n")
		b.WriteString(prompt + line + "\n" + indented(bagrig(t, strings.Fields(line)...).stdout) + "\n")
		rest = afterBlock(after)
	}
	if shown < 4 {
		t.Errorf("got %d commands with what they print, want those of topologies and of scenarios", shown)
	}
	golden(t, topoPage, b.String())
}

// thisMachine is what a dry run says of the machine that it is made on.
var thisMachine = regexp.MustCompile(`limit is [0-9,]+: [a-z ]+`)

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(thisMachine.ReplaceAllString(text, "limit is 1,048,576: enough")) {
		if line != "\n" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// afterBlock is what follows the indented lines at the start of a text.
func afterBlock(text string) string {
	for {
		line, rest, _ := strings.Cut(text, "\n")
		if line != "" && !strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "    $ ") || text == "" {
			return text
		}
		text = rest
	}
}
