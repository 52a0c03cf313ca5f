package topologies

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestFilesInTheDocumentationAreRead(t *testing.T) {
	for _, name := range []string{"../docs/topologies.md", "../README.md"} {
		page, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		descriptions := 0
		for i, block := range strings.Split(string(page), "```yaml\n")[1:] {
			text, _, _ := strings.Cut(block, "```")
			if !strings.HasPrefix(text, "name:") {
				continue // a scenario
			}
			descriptions++
			if _, err := Read(fmt.Sprintf("%s, block %d", name, i+1), []byte(text)); err != nil {
				t.Error(err)
			}
		}
		if descriptions != 3 {
			t.Errorf("%s: got %d topologies, want two descriptions and the explicit form", name, descriptions)
		}
	}
}
