package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/report/plot"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// dampFlags are the flags of `bagrig damp`.
type dampFlags struct {
	pipeline, input, out, svg string
	json                      bool
	speed                     string
	members, length           int
	after                     time.Duration
	role, class               string
}

func dampCommand() *cobra.Command {
	var flags dampFlags
	cmd := &cobra.Command{
		Use:   "damp --input NAME|FILE",
		Short: "Show what a damping pipeline makes of a series, without a network",
		Long: "Run one bundle, and the prefix that only it leads to, through a damping pipeline and\nshow what neighbours are told, when something is kept back, and how much capacity over\ntime is told too much and too little.\n\n" +
			"A series is a CSV file, \"time,members\" and then one change a line, or one of\n" + strings.Join(damping.Recordings(), ", ") + ".",
		Example: "  bagrig damp --pipeline bag-default --input noise-576 --svg noise.svg",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&flags.pipeline, "pipeline", damping.PresetBagDefault, "a preset ("+strings.Join(damping.Presets(), ", ")+"),\nor a YAML file with a plan, see docs/damping.md")
	f.StringVar(&flags.input, "input", "", "the series")
	f.IntVar(&flags.members, "members", 0, "members of the bundle at full health (default the most in the series)")
	f.StringVar(&flags.speed, "speed", "800G", "bits/s of one member")
	f.DurationVar(&flags.after, "after", time.Hour, "how long to go on after the last change")
	f.IntVar(&flags.length, "length", 0, "metres of the bundle, for a plan's bundle rules")
	f.StringVar(&flags.role, "role", "", "role of the speaker, for a plan's told rules")
	f.StringVar(&flags.class, "class", "", "class of the prefix, for a plan's told rules")
	f.BoolVar(&flags.json, "json", false, "print JSON instead of text")
	f.StringVar(&flags.svg, "svg", "", "plot into this file")
	f.StringVar(&flags.out, "out", "", "folder to write text, JSON, CSV, SVG and PNG into")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		damped, trace, err := flags.damp()
		if err != nil {
			return err
		}
		text := []byte(damped.Text())
		asJSON, err := damped.JSON()
		if err != nil {
			return err
		}
		if err := flags.write(damped, trace, text, asJSON); err != nil {
			return err
		}
		if flags.json {
			text = asJSON
		}
		_, err = cmd.OutOrStdout().Write(text)
		return err
	}
	return cmd
}

// damp runs the series through the pipeline, and through the one that passes
// everything.
func (d dampFlags) damp() (*report.Damped, *damping.Trace, error) {
	series, err := readSeries(d.input)
	if err != nil {
		return nil, nil, err
	}
	info := damping.BundleInfo{Members: d.members, Length: d.length}
	if info.Members == 0 {
		info.Members = damping.MostMembers(series)
	}
	if d.after < 0 {
		return nil, nil, fmt.Errorf("--after %v: want 0 or more", d.after)
	}
	if info.Speed, err = yamltree.ParseCapacity(d.speed); err != nil {
		return nil, nil, fmt.Errorf("--speed %q: %w", d.speed, err)
	}
	plan, err := readPipeline(d.pipeline, damping.Sizes{Step: info.Speed, Largest: info.Full()})
	if err != nil {
		return nil, nil, err
	}
	pipeline, end := plan.Joined(info, d.role, d.class), series[len(series)-1].At+d.after
	trace, err := damping.Replay(pipeline, info, series, end)
	if err != nil {
		return nil, nil, fmt.Errorf("--input %s: %w", d.input, err)
	}
	undamped, err := damping.Replay(damping.Pipeline{}, info, series, end)
	if err != nil {
		return nil, nil, fmt.Errorf("--input %s: %w", d.input, err)
	}
	return report.NewDamped(pipeline, d.input, len(series), info, trace, undamped), trace, nil
}

// readSeries gives a recorded series or reads a file.
func readSeries(name string) ([]damping.Sample, error) {
	if name == "" {
		return nil, fmt.Errorf("--input is missing: want a CSV file, or one of %s", strings.Join(damping.Recordings(), ", "))
	}
	if slices.Contains(damping.Recordings(), name) {
		return damping.Recording(name)
	}
	data, err := yamltree.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("--input %q: no such file, and not one of %s", name, strings.Join(damping.Recordings(), ", "))
	}
	if err != nil {
		return nil, fmt.Errorf("--input: %w", err)
	}
	series, err := damping.ReadSeries(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return series, nil
}

// readPipeline gives a preset or reads a plan from a file.
func readPipeline(name string, sizes damping.Sizes) (damping.Plan, error) {
	if slices.Contains(damping.Presets(), name) {
		p, err := damping.PresetFor(name, sizes)
		return damping.Uniform(p), err
	}
	data, err := yamltree.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return damping.Plan{}, fmt.Errorf("--pipeline %q: no such file, and not one of %s", name, strings.Join(damping.Presets(), ", "))
	}
	if err != nil {
		return damping.Plan{}, fmt.Errorf("--pipeline: %w", err)
	}
	return harness.ReadPlan(name, data, sizes)
}

// write makes the files that were asked for.
func (d dampFlags) write(damped *report.Damped, trace *damping.Trace, text, asJSON []byte) error {
	title := fmt.Sprintf("%s on %s", filepath.Base(d.pipeline), filepath.Base(d.input))
	draw := func(format plot.Format) ([]byte, error) {
		var b bytes.Buffer
		err := plot.Trace(&b, format, title, trace)
		return b.Bytes(), err
	}
	if d.svg == "" && d.out == "" {
		return nil
	}
	svg, err := draw(plot.SVG)
	if err != nil {
		return err
	}
	if d.svg != "" {
		if err := os.WriteFile(d.svg, svg, 0o644); err != nil {
			return fmt.Errorf("--svg: %w", err)
		}
	}
	if d.out == "" {
		return nil
	}
	png, err := draw(plot.PNG)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.out, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for name, data := range map[string][]byte{"damp.txt": text, "damp.json": asJSON, "damp.csv": []byte(damped.CSV()), "damp.svg": svg, "damp.png": png} {
		if err := os.WriteFile(filepath.Join(d.out, name), data, 0o644); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}
