package properties_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPolicyOfAnotherModuleIsJudged runs the tests of the example, in which a user's
// own module attaches the rules. What that module would get from `go mod tidy` it has
// from ours here, and ours from this folder, so that nothing is looked up.
func TestAPolicyOfAnotherModuleIsJudged(t *testing.T) {
	ours, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	theirs := t.TempDir()
	if err := os.CopyFS(theirs, os.DirFS(filepath.Join(ours, "examples", "own-policy"))); err != nil {
		t.Fatal(err)
	}
	read := func(path string) string {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(theirs, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	_, requires, _ := strings.Cut(read(filepath.Join(ours, "go.mod")), "require (")
	write("go.mod", read(filepath.Join(theirs, "go.mod"))+"\nrequire ("+requires+fmt.Sprintf("\nreplace github.com/bagrig/bagrig => %q\n", ours))
	write("go.sum", read(filepath.Join(ours, "go.sum")))
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = theirs
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}
