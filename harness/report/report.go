// Package report writes what a run found: the folder with run.json,
// events.ndjson, junit.xml, summary.txt, fib.json, fib.txt and scenario.yaml,
// and the summary that a person reads. It runs nothing and judges nothing; docs/run-folder.md
// describes the files.
//
//	folder, err := report.CreateIn("runs", report.About{Scenario: sc, Started: time.Now()})
//	result, runErr := harness.Run(ctx, sc, harness.RunOptions{Observer: folder, Checks: checks})
//	err = folder.Finish(result)
package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

// The files of a run folder.
const (
	ScenarioFile = "scenario.yaml"
	EventsFile   = "events.ndjson"
	RunFile      = "run.json"
	JUnitFile    = "junit.xml"
	SummaryFile  = "summary.txt"
	FIBFile      = "fib.json"
	FIBTextFile  = "fib.txt"
	CrashFile    = "crash.txt"
	AgreeFile    = "agreement.txt"
)

// SimFolder is the folder of the run on sim in that of a run on both engines.
const SimFolder = "sim"

// About is what is known of a run before it starts.
type About struct {
	Scenario *harness.Scenario
	Started  time.Time
	Version  string // of bagrig
	Command  string // repeats the run
	Schedule string // of sim; empty on gobgp
}

// Folder is the folder of one run. It hears of the run as a state.Observer and
// writes each record at once. Its methods are called from one goroutine.
type Folder struct {
	dir    string
	about  About
	events *os.File
	crash  *crashOutput // nil unless CatchCrash was called
	err    error        // the first error of writing events.ndjson
}

var _ state.Observer = (*Folder)(nil)

// Create makes the folder, which must not exist, with everything that is known
// before the run: scenario.yaml, an empty events.ndjson, and a run.json whose
// verdict is Running. Finish must be called unless it returns an error.
func Create(dir string, about About) (_ *Folder, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, fmt.Errorf("run folder: %w", err)
	}
	f := &Folder{dir: dir, about: about}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("run folder: %w", err), os.RemoveAll(dir))
		}
	}()
	if err := WriteScenario(dir, about.Scenario); err != nil {
		return nil, err
	}
	if err := f.writeRun(f.Document(nil)); err != nil {
		return nil, err
	}
	if f.events, err = os.OpenFile(f.path(EventsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o666); err != nil {
		return nil, err
	}
	return f, nil
}

// WriteScenario writes a scenario, and the files that it names, so that
// harness.Load reads it from the folder wherever that is moved to.
func WriteScenario(dir string, sc *harness.Scenario) error {
	if err := writeFile(filepath.Join(dir, ScenarioFile), sc.Source); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(sc.Files)) {
		files := filepath.Join(dir, harness.FilesFolder)
		if err := os.MkdirAll(files, 0o777); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(files, harness.CopyName(name)), sc.Files[name]); err != nil {
			return err
		}
	}
	return nil
}

// Dir is the folder's path.
func (f *Folder) Dir() string { return f.dir }

// Document is run.json. A nil result is that of a run that has not ended.
func (f *Folder) Document(res *state.Result) *Document { return newDocument(f.about, f.dir, res) }

// Progress implements state.Observer; how far a step is leaves no trace.
func (f *Folder) Progress(string, int, int) {}

// Record implements state.Observer. It adds one line to events.ndjson with one
// write, so that a reader or a crash never meets half of it. After an error
// nothing more is written, and Finish returns the error.
func (f *Folder) Record(r state.Record) {
	if f.err != nil {
		return
	}
	line, err := json.Marshal(newLine(r))
	if err == nil {
		_, err = f.events.Write(append(line, '\n'))
	}
	f.err = err
}

// Finish writes run.json, junit.xml, summary.txt, fib.json and fib.txt and closes the folder. It
// writes as much as it can, and returns every error of writing since Create.
func (f *Folder) Finish(res *state.Result) error {
	doc := f.Document(res)
	junit, err := doc.JUnit()
	errs := []error{f.err, f.events.Close(), err}
	if err == nil {
		errs = append(errs, writeFile(f.path(JUnitFile), junit))
	}
	if doc.FIB != nil {
		data, text, err := doc.fibFiles(res)
		errs = append(errs, err, writeFile(f.path(FIBFile), data), writeFile(f.path(FIBTextFile), text))
	}
	if res.Agreement != nil {
		errs = append(errs, writeFile(f.path(AgreeFile), []byte(res.Agreement.Text)))
	}
	errs = append(errs, writeFile(f.path(SummaryFile), []byte(doc.Summary())), f.writeRun(doc), f.crash.release())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("run folder %q: %w", f.dir, err)
	}
	return nil
}

func (f *Folder) path(name string) string { return filepath.Join(f.dir, name) }

func (f *Folder) writeRun(doc *Document) error {
	data, err := doc.JSON()
	if err != nil {
		return err
	}
	return writeFile(f.path(RunFile), data)
}

// WriteFile replaces a file as a whole, for what is kept outside a run folder. What
// is not Replaceable it leaves as it is.
func WriteFile(path string, data []byte) error { return writeFile(path, data) }

// Replaceable refuses a path where something else than a regular file is: renaming
// a file onto a device, a pipe or a link would put the file in its place.
func Replaceable(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: mode %v: want a regular file there, or none", path, info.Mode())
	}
	return nil
}

// writeFile replaces the file as a whole: whoever reads it finds the old
// content or the new, also after a crash in between.
func writeFile(path string, data []byte) (err error) {
	if err := Replaceable(path); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(temp.Name()))
		}
	}()
	// CreateTemp makes files private; a report is as public as its folder.
	_, writeErr := temp.Write(data)
	if err := errors.Join(writeErr, temp.Chmod(0o644), temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
