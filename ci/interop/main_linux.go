// Command interop puts the conformance catalogue to real routing daemons: FRR,
// BIRD, OpenBGPD and ExaBGP from the distribution's packages, and beside them to
// bagrig's own speaker and a plain GoBGP server in this process. It prints the
// matrix, holds every difference against deviations.yaml, and writes the matrix
// into docs/interop.md or compares it with what is there.
//
//	go run ./ci/interop            # as root, on Linux
//
// Each daemon runs in a cell: a process of this program in a process, a network
// and a mount namespace of its own, with the daemon in a second network
// namespace at the other end of a veth pair. None of them has a name. When a
// cell ends, however it ends, the kernel ends the daemon and takes the
// namespaces, their routes and the files of the private mounts with it; a cell
// ends when this process does. So nothing can be left behind or be in the way.
//
// Not root, or a daemon missing: skipped, with the reason. With
// BAGRIG_INTEROP=required a skip fails.
//
// Exit status: 0 no unlisted difference, 1 there is one, or a skip that fails, 2
// bad input or environment, 130 interrupted.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/bagrig/bagrig/properties/conform"
	"github.com/bagrig/bagrig/properties/conform/inprocess"
)

//go:embed deviations.yaml
var deviationsFile []byte

const deviationsName = "ci/interop/deviations.yaml"

func main() {
	if name := os.Getenv(cellVariable); name != "" {
		os.Exit(cellMain(name))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	l := lane{required: os.Getenv("BAGRIG_INTEROP") == "required"}
	flag.StringVar(&l.out, "out", "", "folder for interop.txt, conform.json and conform.xml")
	flag.StringVar(&l.page, "page", "docs/interop.md", "the page that holds the matrix; none: do not look")
	flag.BoolVar(&l.update, "update", os.Getenv("BAGRIG_UPDATE") == "1", "write the matrix into the page instead of comparing it")
	only := flag.String("only", "", "names of devices, with commas between (default all: "+strings.Join(deviceNames(), ",")+")")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "interop: argument %q: want none\n", flag.Arg(0))
		os.Exit(2)
	}
	if *only != "" {
		l.only = strings.Split(*only, ",")
	}
	err := l.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
	}
	os.Exit(status(ctx, err))
}

func status(ctx context.Context, err error) int {
	switch {
	case ctx.Err() != nil:
		return 130
	case err == nil:
		return 0
	case errors.Is(err, errDifferent):
		return 1
	}
	return 2
}

// errDifferent means that the lane ran, and found what must not be.
var errDifferent = errors.New("not as it should be")

// lane is one run over all devices.
type lane struct {
	required  bool
	update    bool
	out, page string
	only      []string
}

// deviceNames are the devices in the order of the matrix.
func deviceNames() []string {
	names := []string{"bagrig", "gobgp"}
	for _, d := range daemons {
		names = append(names, d.name)
	}
	return names
}

func (l *lane) wants(name string) bool { return l.only == nil || slices.Contains(l.only, name) }

func (l *lane) run(ctx context.Context) error {
	for _, name := range l.only {
		if !slices.Contains(deviceNames(), name) {
			return fmt.Errorf("-only %q: want some of %s", name, strings.Join(deviceNames(), ","))
		}
	}
	deviations, err := conform.ReadDeviations(deviationsName, deviationsFile, scenarioChecks()...)
	if err != nil {
		return err
	}
	reports, skips, err := l.ask(ctx)
	if err != nil {
		return err
	}
	for _, r := range reports {
		deviations.Apply(r)
	}
	if err := l.write(reports); err != nil {
		return err
	}
	if len(reports) > 0 {
		fmt.Print(text(reports))
	}
	var wrong []string
	for _, r := range reports {
		if !r.Held() {
			wrong = append(wrong, r.Device+" differs from what is listed")
		}
	}
	for _, s := range skips {
		fmt.Println("skipped", s)
		if l.required {
			wrong = append(wrong, "skipped "+s)
		}
	}
	if l.page != "none" {
		unknown, err := judgePage(l.page, l.update, reports)
		for _, device := range unknown {
			fmt.Printf("%s: not in the matrix of %s in this version: not compared\n", device, l.page)
		}
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%w: %s", errDifferent, strings.Join(wrong, "; "))
	}
	return nil
}

// ask runs the catalogue on every device that there is: the cells beside each
// other, those of this process one after the other.
func (l *lane) ask(ctx context.Context) (reports []*conform.Report, skips []string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	list := make([]*conform.Report, len(daemons))
	errs := make([]error, len(daemons))
	var wg sync.WaitGroup
	for i, d := range daemons {
		if !l.wants(d.name) {
			continue
		}
		if why := d.missing(); why != "" {
			skips = append(skips, d.name+": "+why)
			continue
		}
		wg.Go(func() {
			if list[i], errs[i] = runCell(ctx, d); errs[i] != nil {
				cancel() // the others' work is not wanted any more
			}
		})
	}
	own, err := l.own(ctx)
	if err != nil {
		cancel()
	}
	wg.Wait()
	// One that failed by itself says more than those that were told to stop.
	all := append(errs, err)
	slices.SortStableFunc(all, func(a, b error) int { return cancelled(a) - cancelled(b) })
	for _, err := range all {
		if err != nil {
			return nil, skips, err
		}
	}
	return append(own, slices.DeleteFunc(list, func(r *conform.Report) bool { return r == nil })...), skips, nil
}

func cancelled(err error) int {
	if errors.Is(err, context.Canceled) {
		return 1
	}
	return 0
}

// own runs the devices of this process.
func (l *lane) own(ctx context.Context) (list []*conform.Report, err error) {
	if l.wants("bagrig") {
		s, err := inprocess.StartSpeaker(ctx)
		if err != nil {
			return nil, err
		}
		r, err := conform.Run(ctx, s.Device(), conform.Options{Local: s.Peers()})
		if err := errors.Join(err, s.Close()); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	if l.wants("gobgp") {
		g, err := inprocess.StartGoBGP(ctx)
		if err != nil {
			return nil, err
		}
		r, err := conform.Run(ctx, g.Device(), conform.Options{Local: g.Peers()})
		if err := errors.Join(err, g.Close()); err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}

// text is what is printed: the matrix, and all of those that no list explains.
func text(reports []*conform.Report) string {
	var b strings.Builder
	b.WriteString(conform.Matrix(reports))
	for _, r := range reports {
		if !r.Held() {
			b.WriteString("\n" + conform.Table(r))
		}
	}
	return b.String()
}

func (l *lane) write(reports []*conform.Report) error {
	if l.out == "" {
		return nil
	}
	if err := os.MkdirAll(l.out, 0o777); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	text := os.WriteFile(filepath.Join(l.out, "interop.txt"), []byte(conform.Matrix(reports)), 0o644)
	if err := errors.Join(conform.Write(l.out, reports), text); err != nil {
		return fmt.Errorf("-out: %w", err)
	}
	return nil
}
