package topologies

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestFilesInTheDocumentationAreRead(t *testing.T) {
	page, err := os.ReadFile("../docs/topologies.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```yaml\n")[1:]
	if len(blocks) != 3 {
		t.Fatalf("got %d YAML blocks, want two descriptions and the explicit form", len(blocks))
	}
	for i, block := range blocks {
		text, _, _ := strings.Cut(block, "```")
		if _, err := Read(fmt.Sprintf("block-%d", i+1), []byte(text)); err != nil {
			t.Error(err)
		}
	}
}
