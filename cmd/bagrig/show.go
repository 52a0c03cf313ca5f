package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
)

func showCommand() *cobra.Command {
	var flags sceneFlags
	var device, prefix string
	cmd := &cobra.Command{
		Use:   "show " + strings.Join(report.TableNames(), "|") + " RUN",
		Short: "Show the tables of all devices at an event",
		Long: "Show one table: rib, every Adj-RIB-In entry with its share; fib, what hardware has;\ntold, what each device tells; sessions, every bundle and its session.\n\n" +
			replayHelp,
		Args: cobra.ExactArgs(2),
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&device, "device", "", "only this device")
	cmd.Flags().StringVar(&prefix, "prefix", "", "only this prefix; not for sessions")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := args[0]
		if !slices.Contains(report.TableNames(), name) {
			return fmt.Errorf("table %q: want one of %s", name, strings.Join(report.TableNames(), ", "))
		}
		sc, err := loadRun(args[1])
		if err != nil {
			return err
		}
		want := report.Filter{Device: -1, Prefix: -1}
		if cmd.Flags().Changed("device") {
			if want.Device, err = harness.FindDevice(sc.Topology, device); err != nil {
				return err
			}
		}
		if cmd.Flags().Changed("prefix") {
			if name == "sessions" {
				return errors.New("--prefix: sessions are not of a prefix")
			}
			if want.Prefix, err = harness.FindPrefix(sc.Topology, prefix); err != nil {
				return err
			}
		}
		return replay(cmd, args[1], sc, cmd.Flags().Changed("at"), flags, func(s *harness.Scene) (page, error) { return report.NewTable(name, s, want) })
	}
	return cmd
}
