package bagrig

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/bagrig/bagrig"

// mayImport is the table of design: a folder, and the folders of ours that its
// packages, tests included, may import. The longest matching folder counts.
var mayImport = map[string][]string{
	"topologies":       {"topologies"},
	"damping":          {},
	"fib":              {},
	"speakers/linkbw":  {},
	"speakers":         {"speakers", "topologies", "damping"},
	"harness/state":    {"topologies", "damping", "fib"},
	"harness/wire":     {"harness/state", "speakers", "topologies", "damping", "fib"},
	"harness/capture":  {"harness/state", "topologies"},
	"harness/hardware": {"harness/state", "speakers", "topologies", "damping", "fib"},
	"harness/sim":      {"harness/state", "harness/hardware", "speakers", "topologies", "damping", "fib"},
	"harness/live":     {"harness/state", "harness/wire", "harness/hardware", "speakers", "topologies", "damping", "fib"},
	"harness/oracle":   {"harness/state", "topologies", "damping"},
	"harness/shrink":   {"harness", "speakers", "topologies", "damping", "fib"},
	"harness":          {"harness", "speakers", "topologies", "damping", "fib"},
	"properties":       {"properties", "harness", "speakers", "topologies", "damping", "fib"},

	"damping/dampingtest": {"damping"},
	"properties/generate": {"harness", "speakers", "topologies", "damping", "fib"},
	"fuzz":                {"properties", "harness", "speakers", "topologies", "damping", "fib"},
	"cmd":                 {""},
	"ci":                  {""},
	"examples":            {""}, // modules of their own
}

type source struct {
	folder string // of the file, from the module's root
	path   string
	file   *ast.File
	set    *token.FileSet
}

func sources(t *testing.T) []source {
	t.Helper()
	var list []source
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "runs") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".go" {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		list = append(list, source{filepath.ToSlash(filepath.Dir(path)), path, file, set})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// under tells whether a folder is another one or in it; all are in "".
func under(folder, in string) bool {
	return in == "" || folder == in || strings.HasPrefix(folder, in+"/")
}

func TestImportsGoOneWay(t *testing.T) {
	for _, s := range sources(t) {
		if s.folder == "." {
			continue
		}
		rule, found := "", false
		for folder := range mayImport {
			if under(s.folder, folder) && len(folder) > len(rule) {
				rule, found = folder, true
			}
		}
		if !found {
			t.Errorf("%s: folder %q is not in the table of the design", s.path, s.folder)
			continue
		}
		for _, imp := range s.file.Imports {
			path, _ := strconv.Unquote(imp.Path.Value)
			to, ours := strings.CutPrefix(path, module+"/")
			if !ours || to == s.folder {
				continue
			}
			if !slices.ContainsFunc(mayImport[rule], func(allowed string) bool { return under(to, allowed) }) {
				t.Errorf("%s imports %s: %q may import only %q", s.path, to, rule, mayImport[rule])
			}
		}
	}
}

func TestOracleReachesNoCodeOfSpeakers(t *testing.T) {
	if !slices.ContainsFunc(reached(t, "./harness/sim"), judged) {
		t.Error("harness/sim reaches no code of speakers: want it found where it is")
	}
	for _, pkg := range reached(t, "./harness/oracle") {
		if judged(pkg) {
			t.Errorf("harness/oracle reaches %s", pkg)
		}
	}
}

// reached are the packages that a package and its tests import, directly and
// through others.
func reached(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-test", pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// judged tells whether a package is one of those that the oracle judges.
func judged(pkg string) bool {
	return strings.HasPrefix(pkg, module+"/speakers") || strings.Contains(pkg, "gobgp")
}

func TestEveryPackageIsDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if strings.HasSuffix(s.path, "_test.go") {
			continue
		}
		documented[s.folder] = documented[s.folder] || s.file.Doc != nil
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("package in %s has no comment", folder)
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, s := range sources(t) {
		if strings.HasSuffix(s.path, "_test.go") || s.file.Name.Name == "main" {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && d.Name.Name != "String" && d.Name.Name != "Error" {
					t.Errorf("%s: %s has no comment", s.set.Position(d.Pos()), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && ts.Doc == nil && d.Doc == nil {
						t.Errorf("%s: %s has no comment", s.set.Position(ts.Pos()), ts.Name.Name)
					}
				}
			}
		}
	}
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	name := d.Recv.List[0].Type
	if star, ok := name.(*ast.StarExpr); ok {
		name = star.X
	}
	id, ok := name.(*ast.Ident)
	return !ok || id.IsExported()
}

func TestModuleReplacesNothing(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mod)) {
		if strings.HasPrefix(strings.TrimSpace(line), "replace") {
			t.Errorf("go.mod: %s", strings.TrimSpace(line))
		}
	}
}

func TestREADMEIsShort(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(readme), "\n"); n > 200 {
		t.Errorf("README.md: %d lines, want at most 200", n)
	}
}

func TestRelativeLinksLeadSomewhere(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range mdLink.FindAllSubmatch(text, -1) {
			link, err := url.Parse(string(match[1]))
			if err != nil {
				t.Errorf("%s: link %q: %v", page, match[1], err)
				continue
			}
			if link.IsAbs() || link.Path == "" { // elsewhere, or in the page
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link.Path)); err != nil {
				t.Errorf("%s: link %q: %v", page, match[1], err)
			}
		}
	}
	if links == 0 {
		t.Error("no relative link was found in README.md and docs")
	}
}

// mdLink is an inline link of Markdown; a page's code has none that look so.
var mdLink = regexp.MustCompile(`\]\(([^()\s]+)\)`)

func TestREADMEsExampleIsTheOneThatRuns(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	shown, _, found := strings.Cut(rest, "```")
	example, err := os.ReadFile("properties/example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !found || !strings.HasSuffix(string(example), "\n"+shown) {
		t.Error("README.md: the Go example is not the one in properties/example_test.go")
	}
}

// Lengths are shown and not judged: splitting only to be short helps nobody.
func TestLengthsAreShown(t *testing.T) {
	for _, s := range sources(t) {
		if n := s.set.Position(s.file.End()).Line; n > 800 {
			t.Logf("%s: %d lines", s.path, n)
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := s.set.Position(f.End()).Line - s.set.Position(f.Pos()).Line + 1; n > 80 {
				t.Logf("%s: %s: %d lines", s.set.Position(f.Pos()), f.Name.Name, n)
			}
		}
	}
}
