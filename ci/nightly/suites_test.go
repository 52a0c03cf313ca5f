package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// seedNames are what the packages of the suites read a seed with: a flag's variable, and
// the environment variable itself.
var seedNames = []string{"seedFlag", `"` + seedEnv + `"`}

// testsOf are the tests of a package, and those of them that draw cases from a seed: they
// read it, or call by name what does.
func testsOf(t *testing.T, dir string) (all, drawn []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: got %v and %v, want tests", dir, files, err)
	}
	uses := map[string][]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv == nil && strings.HasPrefix(name, "Test") && name != "TestMain" {
				all = append(all, name)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					uses[name] = append(uses[name], n.Name)
				case *ast.BasicLit:
					uses[name] = append(uses[name], n.Value)
				}
				return true
			})
		}
	}
	known := slices.Clone(seedNames)
	for grew := true; grew; {
		grew = false
		for name, used := range uses {
			if !slices.Contains(known, name) && slices.ContainsFunc(used, func(u string) bool { return slices.Contains(known, u) }) {
				known, grew = append(known, name), true
			}
		}
	}
	for _, name := range all {
		if slices.Contains(known, name) {
			drawn = append(drawn, name)
		}
	}
	return all, drawn
}

// A suite whose tests were renamed would not run, and a test of drawn cases that none
// plays would see the few seeds of every day for ever.
func TestEverySuiteHasTestsAndEveryTestOfDrawnCasesASuite(t *testing.T) {
	root, err := moduleRoot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	played, byPackage := map[string]bool{}, map[string]bool{}
	for _, s := range suites(maxMinutes * time.Minute) {
		all, _ := testsOf(t, filepath.Join(root, s.pkg))
		byPackage[s.pkg] = true
		pattern, matched := regexp.MustCompile(s.run), 0
		for _, name := range all {
			if pattern.MatchString(name) {
				matched++
				played[s.pkg+" "+name] = played[s.pkg+" "+name] || s.least == 0
			}
		}
		if matched == 0 {
			t.Errorf("suite %s: no test of %s matches %q", s.name, s.pkg, s.run)
		}
	}
	for pkg := range byPackage {
		_, drawn := testsOf(t, filepath.Join(root, pkg))
		if len(drawn) == 0 {
			t.Errorf("%s: no test reads %q: want this test to look for what does", pkg, seedNames)
		}
		for _, name := range drawn {
			if !played[pkg+" "+name] {
				t.Errorf("%s: %s reads a seed, and no suite of every night plays it", pkg, name)
			}
		}
	}
}
