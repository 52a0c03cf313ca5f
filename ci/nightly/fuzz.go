package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bagrig/bagrig/harness/report"
)

// mostInputs is how many failing inputs are looked for of one target in a night. The
// first one of a target is what matters most, and others may be the same.
const mostInputs = 5

// fuzz runs one target until its time is over. Each failing input is taken out of
// the target's corpus, since one in it would be all that is ever found, and goes back
// there at the end, one of each failure.
func (n *night) fuzz(ctx context.Context, p *part, binary string, deadline time.Time) {
	var inputs []input
	for len(inputs) < mostInputs && time.Until(deadline) >= time.Second {
		e, err := n.fuzzOnce(ctx, p, binary, time.Until(deadline))
		if err != nil {
			p.stop(ctx, err)
			break
		}
		p.counted(e.output)
		if ctx.Err() != nil {
			p.stop(ctx, ctx.Err())
		}
		if (e.code == 0 || onlyDeadline(e.output)) && !e.expired {
			if p.Executions == 0 && len(inputs) == 0 {
				p.short = timeFor(e.output)
				p.stop(ctx, errors.New("no run of its own: all of its time went into the corpus that there is"))
				break
			}
			p.pass()
			break
		}
		in, ok, err := n.takeInput(p, e.output)
		if err != nil {
			p.stop(ctx, err)
			break
		}
		if !ok {
			if ctx.Err() == nil {
				n.fuzzFailed(p, e)
			}
			break
		}
		inputs = append(inputs, in)
		n.find(p, in.text, n.putBack(p, in))
		if err := n.write(); err != nil { // now, and not only when the part is over
			p.stop(ctx, err)
			break
		}
	}
	if len(inputs) > 0 {
		p.Status = statusFailed
		n.keep(ctx, p, binary, inputs)
	}
}

// binary compiles the fuzz targets of a part's package, once for all of them.
func (n *night) binary(ctx context.Context, p *part) (string, error) {
	if binary, ok := n.binaries[p.Package]; ok {
		if binary == "" {
			return "", errors.New("its package could not be compiled")
		}
		return binary, nil
	}
	name := strings.ReplaceAll(strings.TrimLeft(p.Package, "/"), "/", "_")
	binary := filepath.Join(n.cfg.out, binaryFolder, name+".test")
	e, err := child{
		dir: n.cfg.dir, args: []string{"go", "test", "-c", "-fuzz=.", "-o", binary, p.Package}, log: n.log("compile " + name),
	}.run(ctx)
	if err == nil && e.code != 0 {
		err = fmt.Errorf("its package could not be compiled: %s", strings.TrimSpace(e.output))
	}
	if ctx.Err() == nil {
		n.binaries[p.Package] = binary
		if err != nil {
			n.binaries[p.Package] = ""
		}
	}
	return binary, err
}

// fuzzOnce runs the target until something fails, or for the time. It calls the
// test binary as go test does, with the folder that go test uses as fuzz cache. Inputs
// are not made smaller: that would be time that is not spent on finding.
func (n *night) fuzzOnce(ctx context.Context, p *part, binary string, left time.Duration) (ended, error) {
	return child{
		dir: p.folder, env: n.env(n.cfg.seed), quit: true, until: time.Now().Add(left + hangGrace), log: n.log(p.name()),
		args: []string{
			binary, "-test.run=^$", "-test.fuzz=^" + p.Target + "$", "-test.fuzztime=" + left.Round(time.Millisecond).String(),
			"-test.fuzzminimizetime=1x", "-test.fuzzcachedir=" + n.cacheOf(p),
		},
	}.run(ctx)
}

// cacheOf is the folder of a package in Go's fuzz cache.
func (n *night) cacheOf(p *part) string { return filepath.Join(n.cache, filepath.FromSlash(p.Package)) }

var (
	execs       = regexp.MustCompile(`execs: (\d+) .*new interesting: (\d+) \(total: (\d+)\)`)
	writtenTo   = regexp.MustCompile(`Failing input written to (testdata\S+)`)
	seedFails   = regexp.MustCompile(`failure while testing seed corpus entry: (\S+)`)
	fuzzChatter = regexp.MustCompile(`(?m)^fuzz: .*\n`)
)

var warmup = regexp.MustCompile(`gathering baseline coverage: (\d+)/(\d+) completed`)

// timeFor is how many times as long a target should have run that did not get through the
// corpus that there is: until then Go searches nothing.
func timeFor(output string) (times float64) {
	times = 2
	if all := warmup.FindAllStringSubmatch(output, -1); len(all) > 0 {
		done, _ := strconv.ParseFloat(all[len(all)-1][1], 64) // the pattern has digits only
		of, _ := strconv.ParseFloat(all[len(all)-1][2], 64)
		times = max(times, 2*of/max(done, 1))
	}
	return times
}

// counted adds what a run of a target says that it did.
func (p *part) counted(output string) {
	all := execs.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return
	}
	number := func(text string) int {
		n, _ := strconv.Atoi(text) // the pattern has digits only
		return n
	}
	last := all[len(all)-1]
	p.Executions, p.Interesting, p.Corpus = p.Executions+number(last[1]), p.Interesting+number(last[2]), number(last[3])
}

// input is an input that fails.
type input struct {
	name string // of its file, a hash
	text string // what failed
	kept string // where it is
	size int
}

// putBack is the command that repeats a failure while its input is not in the corpus: all
// that is left of one when the night is killed.
func (n *night) putBack(p *part, in input) string {
	corpus := n.short(filepath.Join(p.folder, "testdata", "fuzz", p.Target))
	return fmt.Sprintf("mkdir -p %s && cp %s %s/ && %s", corpus, n.short(in.kept), corpus, repeatCommand(p, in.name))
}

// short is a path for a shell in the module's root.
func (n *night) short(path string) string {
	if rel, err := filepath.Rel(n.cfg.dir, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

func repeatCommand(p *part, entry string) string {
	return fmt.Sprintf("go test %s -run '^%s$/^%s$'", p.Package, p.Target, entry)
}

// takeInput moves the failing input that a run wrote out of the corpus, and tells
// whether there is one. It takes it out of Go's fuzz cache too, under the same name: one
// that was interesting once and fails now would end every run before its search.
func (n *night) takeInput(p *part, output string) (input, bool, error) {
	m := writtenTo.FindStringSubmatch(output)
	if m == nil {
		return input{}, false, nil
	}
	from := filepath.Join(p.folder, filepath.FromSlash(m[1]))
	data, err := os.ReadFile(from)
	if err != nil {
		return input{}, false, err
	}
	in := input{name: filepath.Base(from), text: failureText(output), size: len(data)}
	in.kept = filepath.Join(n.cfg.out, inputFolder, filepath.FromSlash(p.Package), p.Target, in.name)
	if err := os.MkdirAll(filepath.Dir(in.kept), 0o777); err != nil {
		return in, false, err
	}
	if err := os.WriteFile(in.kept, data, 0o666); err != nil {
		return in, false, errors.Join(err, fmt.Errorf("the input stays in %s", from))
	}
	err = os.Remove(filepath.Join(n.cacheOf(p), p.Target, in.name))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return in, true, errors.Join(os.Remove(from), err)
}

// keep puts one input of each failure, the smallest, into the target's corpus, made
// smaller, and runs it there: what fails once more, outside the search, is what go
// test will show. A target of schedules shrinks them itself then, and writes a fail file.
func (n *night) keep(ctx context.Context, p *part, binary string, inputs []input) {
	smallest := map[string]input{}
	var order []string
	for _, in := range inputs {
		key := n.keyOf(p, in.text)
		if best, ok := smallest[key]; !ok || in.size < best.size {
			smallest[key] = in
		}
		if !slices.Contains(order, key) {
			order = append(order, key)
		}
	}
	for _, key := range order {
		f := n.doc.finding(key)
		if err := n.keepOne(ctx, p, binary, smallest[key], f); err != nil {
			f.Note = fmt.Sprintf("not put into the corpus: %v; the input is %s", err, smallest[key].kept)
		}
		n.filesOf(f)
	}
}

func (n *night) keepOne(ctx context.Context, p *part, binary string, in input, f *finding) error {
	name := in.name
	entry, err := os.ReadFile(in.kept)
	if err != nil {
		return err
	}
	if !strings.Contains(in.text, failHead) && ctx.Err() == nil {
		if name, entry, err = n.shrink(ctx, p, binary, entry); err != nil {
			return err
		}
	}
	corpus := filepath.Join(p.folder, "testdata", "fuzz", p.Target)
	if err := errors.Join(os.MkdirAll(corpus, 0o777), report.WriteFile(filepath.Join(corpus, name), entry)); err != nil {
		return err
	}
	f.Command = repeatCommand(p, name)
	e, err := n.alone(context.WithoutCancel(ctx), p, binary, name, n.log(p.name()))
	switch {
	case err != nil:
		f.Note = err.Error()
	case e.code == 0:
		f.Note = "it did not fail again when it was run alone"
	default: // of the smaller input, or with the shrunk scenario
		f.Text, f.Title = clip(e.output), title(e.output)
	}
	n.filesOf(f)
	if i := slices.IndexFunc(f.Files, func(file string) bool { return strings.Contains(file, "testdata/fails/") }); i >= 0 {
		// The fail file says in words what the bytes say only to one version of a generator.
		f.Command = "go run ./cmd/bagrig replay " + f.Files[i]
		f.Files = slices.DeleteFunc(f.Files, func(file string) bool { return strings.HasSuffix(file, "/"+p.Target+"/"+name) })
		return os.Remove(filepath.Join(corpus, name))
	}
	return nil
}

// repeatTime bounds the run that repeats a failure, shrinking included.
const repeatTime = 90 * time.Second

// fuzzFailed is a failure without an input: an entry of the corpus that fails, a
// target that hangs, or one that cannot be fuzzed.
func (n *night) fuzzFailed(p *part, e ended) {
	p.Status = statusFailed
	text, command := failureText(e.output), fmt.Sprintf("go test %s -run '^%s$'", p.Package, p.Target)
	if m := seedFails.FindStringSubmatch(e.output); m != nil {
		text = "an entry of the corpus fails: " + m[1] + "\n" + text
		command = repeatCommand(p, filepath.Base(m[1]))
	}
	if e.expired {
		text = fmt.Sprintf("it hangs: not ended %v after its time\n%s", hangGrace, text)
		command = fmt.Sprintf("go test %s -run '^$' -fuzz '^%s$'", p.Package, p.Target)
	}
	n.find(p, text, command)
}

// onlyDeadline tells of a failure that is none: where the time of a search ends at a bad moment,
// Go up to 1.26 reports its own end as one (golang/go issue 75804). No input has failed then.
func onlyDeadline(output string) bool {
	var said []string
	for line := range strings.Lines(failureText(output)) {
		if line = strings.TrimSpace(line); !noise(line) {
			said = append(said, line)
		}
	}
	return len(said) == 1 && said[0] == context.DeadlineExceeded.Error() && !writtenTo.MatchString(output)
}

// failureText is what a run of a target says of the failure.
func failureText(output string) string {
	text := fuzzChatter.ReplaceAllString(output, "")
	if at := strings.Index(text, "--- FAIL"); at > 0 {
		text = text[at:]
	}
	if at := strings.Index(text, "Failing input written to"); at >= 0 {
		text = text[:at]
	}
	return strings.TrimSpace(text)
}
