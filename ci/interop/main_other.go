//go:build !linux

// Command interop runs routing daemons in network namespaces, which only Linux
// has.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Println("interop: skipped: only Linux has network namespaces")
	if os.Getenv("BAGRIG_INTEROP") == "required" {
		os.Exit(1)
	}
}
