package shrink

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/report"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// Version is the version of the form of fail files.
const Version = 1

// What a fail file expects of its property now.
const (
	Held     = "held"     // what was found must not come back
	Violated = "violated" // known, and not mended
)

// Fail is a failure that is kept: a scenario, and what fails in it. Its file is
// a scenario file with a head of comments; docs/fail-files.md describes it.
type Fail struct {
	Property string
	Expect   string // Held or Violated
	Command  string // repeats it; empty where it has no file
	How      string // it got small; may be empty
	Story    []string
	Scenario *harness.Scenario
}

// first is the first line of a fail file, without the version.
const first = "# bagrig fail file "

// convert says how to make a fail file anew.
const convert = "to convert, take its lines without # as a scenario, and make a fail file of that with `bagrig shrink SCENARIO -o FILE`"

// Text is the fail file. A scenario that no file can hold is a harness.ErrNoYAML.
func (f *Fail) Text() ([]byte, error) {
	scenario, err := harness.WriteScenario(f.Scenario)
	if err != nil {
		return nil, err
	}
	return append([]byte(f.head()+sumLine(scenario)+f.story()), scenario...), nil
}

// sumLine says what the scenario below the head is, so that one that is cut or
// changed is not taken for the one that failed: a file can be cut and still be YAML.
func sumLine(scenario []byte) string { return fmt.Sprintf("# sum: %s\n", sumOf(scenario)) }

// sumOf is the same for any line ends, which version control may convert.
func sumOf(scenario []byte) string {
	return fmt.Sprintf("%.4x", sha256.Sum256(bytes.ReplaceAll(scenario, []byte("\r\n"), []byte("\n"))))
}

func (f *Fail) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d\n# property: %s\n# expect: %s\n", first, Version, oneLine(f.Property), f.Expect)
	for _, l := range []struct{ name, text string }{{"run", f.Command}, {"size", f.How}} {
		if l.text != "" {
			fmt.Fprintf(&b, "# %s: %s\n", l.name, oneLine(l.text))
		}
	}
	return b.String()
}

func (f *Fail) story() string {
	var b strings.Builder
	if len(f.Story) > 0 {
		b.WriteString("# story:\n")
	}
	for _, line := range f.Story[:min(len(f.Story), MaxStory)] {
		fmt.Fprintf(&b, "#   %s\n", oneLine(line))
	}
	return b.String()
}

// oneLine keeps text from ending a comment, and from steering a terminal.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}

// Folder is the name of the folder of a property's fail files: its words with
// dashes between.
func Folder(property string) string {
	words := strings.FieldsFunc(property, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
	})
	return strings.Join(words, "-")
}

// Place is where the fail belongs under a folder of fail files. The name is of
// what fails, so that what is found twice has one file.
func (f *Fail) Place(dir string) (string, error) {
	scenario, err := harness.WriteScenario(f.Scenario)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, Folder(f.Property), fmt.Sprintf("%.4x.yaml", sha256.Sum256(scenario))), nil
}

// Write writes the fail file as a whole, with the files that the scenario names
// beside it, and makes the folders that are missing. Whoever reads it finds the
// old file or the new one.
func (f *Fail) Write(path string) error { return f.write(path, report.WriteFile) }

func (f *Fail) write(path string, write func(path string, data []byte) error) error {
	text, err := f.Text()
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return fmt.Errorf("fail file: %w", err)
	}
	for name, data := range f.Scenario.Files {
		beside := filepath.Join(folder, harness.FilesFolder, harness.CopyName(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(beside), 0o777), write(beside, data)); err != nil {
			return fmt.Errorf("fail file: %w", err)
		}
	}
	if err := write(path, text); err != nil {
		return fmt.Errorf("fail file: %w", err)
	}
	return nil
}

// IsFail tells whether a file means to be a fail file, of whatever version and however
// damaged its head is: one that were taken for a scenario would lose its expectation unseen.
func IsFail(data []byte) bool {
	for line := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		line = strings.ToLower(strings.Join(strings.Fields(line), " "))
		text, comment := strings.CutPrefix(line, "#")
		text = strings.TrimSpace(strings.TrimLeft(text, "#"))
		switch {
		case !comment && line != "":
			return false
		case strings.HasPrefix(text, "bagrig fail"), strings.HasPrefix(text, "property:"):
			return true
		}
	}
	return false
}

// ReadFail reads a fail file. The error says in which line of the file what was
// expected, and how to convert a file of another version.
func ReadFail(file string, data []byte) (*Fail, error) {
	r := headReader{file: file}
	r.lines = strings.Split(string(data), "\n")
	if want := fmt.Sprint(first, Version); strings.TrimRight(r.lines[0], "\r") != want {
		return nil, r.bad(1, "want %q; %s", want, convert)
	}
	f, err := r.head()
	if err != nil {
		return nil, err
	}
	if err := r.checkSum(f); err != nil {
		return nil, err
	}
	if f.Scenario, err = harness.ReadScenario(file, data); err != nil {
		return nil, err
	}
	return f, nil
}

// headReader reads the comments at the head of a fail file.
type headReader struct {
	file  string
	lines []string

	sum        string // empty = the file has none
	sumLine    int    // from 1
	expectLine int    // from 1; 0 = the file has none
	below      int    // lines of the head
}

// checkSum compares the scenario with the sum, in a file that has one.
func (r *headReader) checkSum(f *Fail) error {
	if r.sum == "" {
		return nil
	}
	if got := sumOf([]byte(strings.Join(r.lines[r.below:], "\n"))); got != r.sum {
		return r.bad(r.sumLine, "want %q: the scenario below is not the one that failed, but cut or changed. Get the file back; where the change is meant, write `# sum: %s`, or leave the line out", got, got)
	}
	return nil
}

func (r *headReader) bad(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %q: %s", r.file, line, r.lines[line-1], fmt.Sprintf(format, args...))
}

// head reads fields, each once, then the story, up to the first line that is no
// comment.
func (r *headReader) head() (*Fail, error) {
	f := &Fail{}
	fields := map[string]*string{"property": &f.Property, "expect": &f.Expect, "run": &f.Command, "size": &f.How, "sum": &r.sum}
	n, story := 1, false
	for ; n < len(r.lines) && strings.HasPrefix(r.lines[n], "#"); n++ {
		line := strings.TrimRight(r.lines[n], "\r")
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "# "), ":")
		text, told := strings.CutPrefix(line, "#   ")
		switch field := fields[name]; {
		case story && told && len(f.Story) < MaxStory:
			f.Story = append(f.Story, text)
		case story && told:
			return nil, r.bad(n+1, "want a story of at most %d lines", MaxStory)
		case name == "story" && value == "" && !story:
			story = true
		case !ok || field == nil || *field != "":
			return nil, r.bad(n+1, "want one each of `# property: NAME`, `# expect: held` or `violated`, `# run: COMMAND`, `# size: TEXT`, `# sum: HASH`, then `# story:` and lines of it after `#   `")
		default:
			*field = strings.TrimSpace(value)
			switch name {
			case "sum":
				r.sumLine = n + 1
			case "expect":
				r.expectLine = n + 1
			}
			if name == "sum" && r.sum == "" {
				return nil, r.bad(n+1, "want `# sum: HASH` of the scenario below, or no such line")
			}
		}
	}
	r.below = n
	switch {
	case f.Property == "":
		return nil, r.bad(n, "the head ends here: want `# property: NAME` in it; %s", convert)
	case r.expectLine > 0 && f.Expect != Held && f.Expect != Violated:
		return nil, r.bad(r.expectLine, "want `# expect: %s` or `%s`, not %q", Held, Violated, f.Expect)
	case r.expectLine == 0:
		return nil, r.bad(n, "the head ends here: want `# expect: %s` or `%s` in it", Held, Violated)
	}
	return f, nil
}

// LoadFail reads a fail file from disk.
func LoadFail(path string) (*Fail, error) {
	data, err := yamltree.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("fail file: %w", err)
	}
	return ReadFail(path, data)
}

// LoadFails lists the fail files under a folder, sorted; none where there is no such
// folder. A file that is none, or that lies in another folder than its
// property's, is an error: nothing is skipped unseen. What could be read is
// returned with the error.
func LoadFails(dir string) (paths []string, fails []*Fail, err error) {
	var errs []error
	walkErr := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && path == dir:
			return nil
		case err != nil:
			return err
		case d.IsDir() && d.Name() == harness.FilesFolder:
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		if strings.HasPrefix(d.Name(), ".") {
			errs = append(errs, fmt.Errorf("%s: want a fail file: this is left of one whose writing was cut off; remove it", path))
			return nil
		}
		f, err := LoadFail(path)
		if err == nil && filepath.Base(filepath.Dir(path)) != Folder(f.Property) {
			err = fmt.Errorf("%s: property %q: want it in a folder %s", path, f.Property, Folder(f.Property))
		}
		if err != nil {
			errs = append(errs, err)
			return nil
		}
		paths, fails = append(paths, path), append(fails, f)
		return nil
	})
	return paths, fails, errors.Join(append(errs, walkErr)...)
}

// ErrNotJudged is a fail file whose property no check of its run judges: a name that is
// misspelt, or one that is no longer. It would be held for ever.
var ErrNotJudged = errors.New("nobody judges it")

// Judge compares what failed in a run with what the file expects; both are as
// harness.Run gave them. It is ErrNotJudged, with the names that there are, where a run
// that came to its end has no outcome of the file's property.
func (f *Fail) Judge(res *state.Result, runErr error) error {
	if runErr == nil && res != nil {
		names := []string{NoConvergence, Panic}
		for _, o := range res.Outcomes {
			names = append(names, o.Name)
		}
		if !slices.Contains(names, f.Property) {
			slices.Sort(names)
			return fmt.Errorf("property %q: %w in this run: want one of %q", f.Property, ErrNotJudged, names)
		}
	}
	return f.judge(Failures(res, runErr))
}

func (f *Fail) judge(failures []string) error {
	found := slices.Contains(failures, f.Property)
	unexpected := slices.DeleteFunc(slices.Clone(failures), func(name string) bool {
		return name == f.Property || slices.Contains(f.Scenario.Expect, name)
	})
	switch {
	case f.Expect == Held && found:
		return fmt.Errorf("%q is violated: want it held", f.Property)
	case f.Expect == Violated && !found:
		return fmt.Errorf("%q holds: where it is mended, say `# expect: held`, so that it stays so", f.Property)
	case len(unexpected) > 0:
		return fmt.Errorf("%q are violated too", unexpected)
	}
	return nil
}
