package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/export"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

func topoCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "topo",
		Short: "Show, check, expand, draw and take in topologies, without a network",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(topoListCommand(), topoShowCommand(), topoValidateCommand(), topoExpandCommand(), topoExportCommand(),
		topoImportCommand(), topoSchemaCommand())
	return cmd
}

const topologyHelp = "NAME is a preset (see `bagrig topo list`), FILE a topology file in either form, see\ndocs/topologies.md."

func topoListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the presets",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, name := range topologies.Presets() {
				t, err := topologies.Preset(name)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), t.Summary()); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

func topoShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show NAME|FILE",
		Short: "Show a topology's tiers, bundles, ports, prefixes and ASNs",
		Long:  "Show a topology in tables: tiers with the ports that their members take and the ports\nthat are there, classes of bundles, prefixes, and what shares an ASN.\n\n" + topologyHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := loadTopology(args[0])
			if err != nil {
				return err
			}
			warn(cmd.ErrOrStderr(), args[0], t)
			out := cmd.OutOrStdout()
			_, err = fmt.Fprint(out, report.Topology(t, columns(out)))
			return err
		},
	}
}

func topoValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check topology files and show all that is wrong",
		Long:  "Check topology files, and show what each good one is and all that is wrong with the\nothers, each with file, line and column. What a good one says that cannot be\nmeant, such as an optic that does not reach, is a warning on stderr.\n\nExit status: 0 all are good, 2 one is not.",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var errs []error
			for _, name := range args {
				t, err := loadTopology(name, harness.KnownASICs())
				if err != nil {
					errs = append(errs, err)
					continue
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: good: %s\n", name, t.Summary()); err != nil {
					return err
				}
				warn(cmd.ErrOrStderr(), name, t)
			}
			return errors.Join(errs...)
		},
	}
}

func topoExpandCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "expand NAME|FILE",
		Short: "Print a topology with every device and bundle written out",
		Long:  "Print a topology in the explicit form: what a generator description comes to, to be\nchanged by hand.\n\n" + topologyHelp,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return exportTopology(cmd, args[0], export.YAML, "")
		},
	}
}

func topoExportCommand() *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export --format " + strings.Join(export.Formats(), "|") + " [-o FILE] NAME|FILE",
		Short: "Print a topology for another tool, or as a picture",
		Long: "Print a topology as Graphviz DOT, JSON, an SVG picture, a containerlab file or YAML.\nA containerlab file has nodes and links and no configuration.\n\n" +
			topologyHelp,
		Example: "  bagrig topo export --format svg -o prometheus.svg prometheus",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&format, "format", "", "one of "+strings.Join(export.Formats(), ", "))
	cmd.Flags().StringVarP(&file, "output", "o", "", "write into this file instead")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(export.Formats(), format) {
			return fmt.Errorf("--format %q: want one of %s", format, strings.Join(export.Formats(), ", "))
		}
		return exportTopology(cmd, args[0], format, file)
	}
	return cmd
}

// exportTopology prints a topology, or writes it into a file where one is named.
func exportTopology(cmd *cobra.Command, name, format, file string) error {
	t, err := loadTopology(name)
	if err != nil {
		return err
	}
	data, err := export.Write(format, t)
	if err != nil {
		return err
	}
	if file == "" {
		_, err = cmd.OutOrStdout().Write(data)
		return err
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		return fmt.Errorf("--output: %w", err)
	}
	return nil
}

func topoImportCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make a topology of another tool's file",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	nodes, links := export.Labels()
	cmd.AddCommand(&cobra.Command{
		Use:   "clab FILE",
		Short: "Make a topology of a containerlab file",
		Long: "Print the topology of a containerlab file as YAML. A node is a device; its role is its\nlabel bagrig.role or its group; parallel links are the members of one bundle. The rest\n" +
			"comes from labels, and what is missing is asked for. Labels of nodes, groups, kinds\nand the defaults:\n" + wrap(nodes) +
			"Labels of links; the defaults may hold bagrig.speed, or bagrig.edge-bag.speed for a\nclass of links, and so on:\n" + wrap(links) +
			"What is left out, such as a node with the role none, is noted on stderr.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := readFile("lab", args[0])
			if err != nil {
				return err
			}
			t, notes, err := export.ReadClab(args[0], data, harness.KnownASICs())
			if err != nil {
				return err
			}
			text, err := topologies.Write(t)
			if err != nil {
				return err
			}
			for _, n := range notes {
				fmt.Fprintf(cmd.ErrOrStderr(), "bagrig: note: %s\n", n)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	})
	return cmd
}

// wrap puts words into indented lines of a terminal's width.
func wrap(words []string) string {
	text, line := "", " "
	for _, w := range words {
		if len(line)+1+len(w) > 86 {
			text, line = text+line+"\n", " "
		}
		line += " " + w
	}
	return text + line + "\n"
}

func topoSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of topology files, for editors",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(topologies.Schema())
			return err
		},
	}
}

// loadTopology gives a preset or reads a file.
func loadTopology(name string, rules ...topologies.ASICRule) (*topologies.Topology, error) {
	if slices.Contains(topologies.Presets(), name) {
		return topologies.Preset(name)
	}
	data, err := yamltree.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("topology %q: no such file, and not one of the presets %s", name, strings.Join(topologies.Presets(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	return topologies.Read(name, data, rules...)
}

// readFile reads a file of YAML; what it should hold is named in errors.
func readFile(what, name string) ([]byte, error) {
	data, err := yamltree.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s %q: no such file", what, name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return data, nil
}
