package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// finding is one failure, however often it was seen.
type finding struct {
	ID      string   `json:"id"` // of what failed where: see normal
	Part    string   `json:"part"`
	Title   string   `json:"title"`
	Seen    int      `json:"seen"`
	Command string   `json:"command"` // repeats it
	Files   []string `json:"files"`   // ready to commit, from the module's root
	Note    string   `json:"note,omitempty"`
	Text    string   `json:"text"` // what the test said, at most mostText bytes
}

// failHead begins a fail file.
const failHead = "# bagrig fail file "

// find notes a failure, unless the same was seen before; then it is counted.
func (n *night) find(p *part, text, command string) *finding {
	key := n.keyOf(p, text)
	f := n.doc.finding(key)
	if f == nil {
		f = &finding{ID: key, Part: p.name(), Title: title(text), Command: command, Text: clip(text), Files: []string{}}
		n.doc.Findings = append(n.doc.Findings, f)
	}
	f.Seen++
	n.filesOf(f)
	if !slices.Contains(p.Findings, key) {
		p.Findings = append(p.Findings, key)
	}
	return f
}

// filesOf gives a finding the files that came since the last one was looked for.
func (n *night) filesOf(f *finding) {
	now, err := keptFiles(n.cfg.dir)
	if err != nil {
		f.Note = err.Error()
		return
	}
	for file := range now {
		if !n.files[file] {
			n.files[file] = true
			f.Files = append(f.Files, file)
		}
	}
	slices.Sort(f.Files)
}

// keptFiles are the files in which failures are kept, from the module's root: below
// any testdata/fuzz and testdata/fails.
func keptFiles(root string) (map[string]bool, error) {
	files := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it went meanwhile
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() && (rel == "runs" || rel != "." && strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !d.IsDir() && !strings.HasPrefix(d.Name(), ".") && keeps.MatchString(rel) {
			files[rel] = true
		}
		return nil
	})
	return files, err
}

var keeps = regexp.MustCompile(`(^|/)testdata/(fuzz|fails)/`)

// keyOf is the same for two failures that are the same: of one target or suite, and
// with one property, or with one text but for what changes from input to input.
func (n *night) keyOf(p *part, text string) string {
	return fmt.Sprintf("%.4x", sha256.Sum256([]byte(p.name()+"\n"+normal(text))))
}

var property = regexp.MustCompile(`(?m)^\s*# property: (.*)$`)

// What of a failure's text changes from input to input, and what it becomes.
var changing = []struct {
	what *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`"(\\.|[^"\\\n])*"`), `""`},
	{regexp.MustCompile("`[^`\n]*`"), "``"},
	{regexp.MustCompile(`\((0x|\{|\.\.\.).*\)`), "()"}, // arguments in a stack
	{regexp.MustCompile(`0x[0-9a-f]+\??`), "0x"},
	{regexp.MustCompile(`\d+(\.\d+)?(ns|µs|us|ms|[hms])+\b`), "0"},
	{regexp.MustCompile(`/tmp/\S+`), "/tmp"},
	{regexp.MustCompile(`\d+`), "0"},
}

// sourceLine is a place in a source file, which does not change.
var sourceLine = regexp.MustCompile(`\w+\.go:\d+`)

// normalLines is how many lines of a text tell failures apart.
const normalLines = 24

// normal is a failure's text without what changes from input to input. Of one that
// has a fail file in it only the property counts, since any schedule breaks it in words of its own.
func normal(text string) string {
	if m := property.FindStringSubmatch(text); m != nil && strings.Contains(text, failHead) {
		return "property " + strings.TrimSpace(m[1])
	}
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if noise(line) {
			continue
		}
		places := sourceLine.FindAllString(line, -1)
		line = sourceLine.ReplaceAllString(line, "\x00")
		for _, c := range changing {
			line = c.what.ReplaceAllString(line, c.to)
		}
		for _, place := range places {
			line = strings.Replace(line, "\x00", place, 1)
		}
		if lines = append(lines, line); len(lines) == normalLines {
			break
		}
	}
	return strings.Join(lines, "\n")
}

// noise tells whether a line is go test's own, or empty.
func noise(line string) bool {
	return line == "" || line == "FAIL" || strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "fuzz: ")
}

// title is the first line of a text that says something.
func title(text string) string {
	if m := property.FindStringSubmatch(text); m != nil && strings.Contains(text, failHead) {
		return strings.TrimSpace(m[1])
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if noise(line) || strings.Contains(line, seedEnv+"=") && !strings.Contains(line, ": case") {
			continue
		}
		if len(line) > titleLength {
			line = strings.ToValidUTF8(line[:titleLength], "") + " ..."
		}
		return line
	}
	return "no text"
}

const (
	titleLength = 160
	mostText    = 20_000
)

// clip bounds a text, for the page; the log has all of it.
func clip(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > mostText {
		return strings.ToValidUTF8(text[:mostText], "") + "\n... the rest is in the log"
	}
	return text
}

func (n *night) path(name string) string { return filepath.Join(n.cfg.out, name) }

// log is the file for the output of what is named so.
func (n *night) log(name string) string {
	return filepath.Join(n.cfg.out, logFolder, strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == os.PathSeparator {
			return '-'
		}
		return r
	}, name)+".txt")
}
