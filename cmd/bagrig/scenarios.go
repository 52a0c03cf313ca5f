package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/harness"
)

func scenariosCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "scenarios",
		Short: "List the embedded scenarios",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range harness.Scenarios() {
				sc, err := harness.Embedded(name)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%-21s  %2d events on %s\n", name, len(sc.Events), sc.Topology.Summary()); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
