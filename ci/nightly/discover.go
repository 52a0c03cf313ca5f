package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// target is a native fuzz target.
type target struct {
	pkg  string // import path
	dir  string // of its package
	name string
}

// discover finds the fuzz targets in the test files of a module's packages, in the
// order of go list and then of their names.
func discover(ctx context.Context, dir string) ([]target, error) {
	list, err := ask(ctx, dir, "go", "list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles", "./...")
	if err != nil {
		return nil, err
	}
	var targets []target
	decoder := json.NewDecoder(strings.NewReader(list))
	for {
		var p struct {
			ImportPath, Dir           string
			TestGoFiles, XTestGoFiles []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return targets, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		var names []string
		for _, file := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			names = append(names, fuzzTargets(parsed)...)
		}
		slices.Sort(names)
		for _, name := range names {
			targets = append(targets, target{p.ImportPath, p.Dir, name})
		}
	}
}

// fuzzTargets are the functions of a file that go test takes for fuzz targets:
// func FuzzXxx(f *testing.F).
func fuzzTargets(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Fuzz") || f.Type.Params.NumFields() != 1 {
			continue
		}
		pointer, ok := f.Type.Params.List[0].Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		if of, ok := pointer.X.(*ast.SelectorExpr); ok && of.Sel.Name == "F" {
			names = append(names, f.Name.Name)
		}
	}
	return names
}

// moduleRoot is the folder of the module that the command is run in.
func moduleRoot(ctx context.Context) (string, error) {
	file, err := ask(ctx, ".", "go", "env", "GOMOD")
	if err != nil {
		return "", err
	}
	if filepath.Base(file) != "go.mod" {
		return "", errors.New("no go.mod here or above: want to be run in the module")
	}
	return filepath.Dir(file), nil
}

// ask runs a short command and gives what it prints, without the space around it.
func ask(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && len(exit.Stderr) > 0 {
			err = errors.New(strings.TrimSpace(string(exit.Stderr)))
		}
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
