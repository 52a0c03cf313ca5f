package damping_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A user's policy lives in a module of its own; a workspace joins the two
// without a replace line and without the network.
func TestPolicyOfAnotherModuleBuildsAndWorks(t *testing.T) {
	ours, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	theirs := filepath.Join(ours, "damping", "testdata", "examplemodule")
	work := filepath.Join(t.TempDir(), "go.work")
	text := fmt.Sprintf("go 1.26.0\n\nuse (\n\t%q\n\t%q\n)\n", ours, theirs)
	if err := os.WriteFile(work, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = theirs
		cmd.Env = append(os.Environ(), "GOWORK="+work, "GOFLAGS=", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %v: %v\n%s", args, err, out)
		}
	}
}
