package main

import (
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/live"
	"github.com/bagrig/bagrig/harness/state"
)

// progress is the live line of a run on a terminal; elsewhere it does nothing.
type progress struct {
	container *mpb.Progress // nil where nothing is shown
	bar       *mpb.Bar
	events    int
	baseline  bool // reached, so the bar counts events

	mu   sync.Mutex // the bar draws on a goroutine of its own
	text string
}

var _ state.Observer = (*progress)(nil)

// barWidth leaves room for the text in 120 columns.
const barWidth = 40

func newProgress(w io.Writer, sc *harness.Scenario) *progress {
	p := &progress{events: len(sc.Events), text: sc.Name}
	if !wanted(w) {
		return p
	}
	p.container = mpb.New(mpb.WithOutput(w), mpb.WithWidth(barWidth))
	p.bar = p.container.New(0, mpb.BarStyle(), mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.text
	})))
	return p
}

// wanted tells whether the writer is a terminal that can redraw a line, and
// whose user did not ask for plain text.
func wanted(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && isatty.IsTerminal(file.Fd()) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Progress implements state.Observer. The steps of an event are too short to show.
func (p *progress) Progress(stage string, done, total int) {
	if p.baseline {
		return
	}
	what := map[string]string{
		live.StageStart: "speakers started", live.StageDial: "sessions dialled", live.StageSpread: "routes have spread",
	}[stage]
	p.show(done, total, fmt.Sprintf("%d of %d %s", done, total, what))
}

// Record implements state.Observer.
func (p *progress) Record(r state.Record) {
	switch r.Kind {
	case "start": // perhaps of the second engine
		p.baseline = false
	case "established":
		p.show(0, 1, r.Text+" Established, routes are spreading")
	case "baseline":
		p.baseline = true
	case "event":
		p.show(r.Event, p.events, fmt.Sprintf("event %d of %d: %s", r.Event+1, p.events, r.Text))
	}
}

func (p *progress) show(done, total int, text string) {
	if p.container == nil {
		return
	}
	p.mu.Lock()
	p.text = text
	p.mu.Unlock()
	p.bar.SetTotal(int64(total), false)
	p.bar.SetCurrent(int64(done))
}

// close removes the line.
func (p *progress) close() {
	if p.container == nil {
		return
	}
	p.bar.Abort(true)
	p.container.Wait()
}
