package main

import (
	"fmt"
	"io"

	"github.com/bagrig/bagrig/topologies"
)

// warn prints what in a good topology cannot be meant, bundles of which the
// same is to be said in one line. name is the file, preset or scenario that the
// topology is of.
func warn(w io.Writer, name string, t *topologies.Topology) {
	var texts []string
	bundles := map[string][]string{}
	for _, x := range t.Warnings() {
		if bundles[x.Text] == nil {
			texts = append(texts, x.Text)
		}
		bundles[x.Text] = append(bundles[x.Text], x.Bundle)
	}
	for _, text := range texts {
		more := ""
		if n := len(bundles[text]) - 1; n > 0 {
			more = fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(w, "bagrig: warning: %s: bundle %q%s: %s\n", name, bundles[text][0], more, text)
	}
}
