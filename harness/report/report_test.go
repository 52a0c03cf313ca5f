package report

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/gen"
	"github.com/leanovate/gopter/prop"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/harness/state"
)

func TestAFullDiskIsReportedAtTheEnd(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("this system has no /dev/full:", err)
	}
	sc, err := harness.Embedded("first-light")
	if err != nil {
		t.Fatal(err)
	}
	f, err := CreateIn(t.TempDir(), About{Scenario: sc, Started: time.Unix(0, 0)})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.events.Close(); err != nil {
		t.Fatal(err)
	}
	f.events = full
	f.Record(state.Record{Kind: "start", Event: -1})
	err = f.Finish(&state.Result{Verdict: state.Held})
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), f.Dir()) {
		t.Errorf("got error %v, want one of no space that names %s", err, f.Dir())
	}
	if _, err := os.Stat(f.path(SummaryFile)); err != nil {
		t.Errorf("the rest of the folder is written all the same: got %v", err)
	}
}

func TestOnlyRegularFilesAreReplaced(t *testing.T) {
	dir := t.TempDir()
	file, pipe, link, folder := dir+"/file", dir+"/pipe", dir+"/link", dir+"/folder"
	for _, err := range []error{os.WriteFile(file, nil, 0o666), syscall.Mkfifo(pipe, 0o600), os.Symlink(file, link), os.Mkdir(folder, 0o777)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{pipe, link, folder} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteFile(path, []byte("x")); err == nil || !strings.Contains(err.Error(), path+": mode ") {
			t.Errorf("%s: got error %v, want it refused", path, err)
		}
		if after, err := os.Lstat(path); err != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: got %v and %v, want it left as it was", path, after, err)
		}
	}
	for _, path := range []string{file, dir + "/new"} {
		if err := WriteFile(path, []byte("x")); err != nil {
			t.Error(err)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != "x" {
			t.Errorf("%s: got %q and %v, want it written", path, data, err)
		}
	}
}

func TestThousandsAreApartAndNothingElseChanges(t *testing.T) {
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 215616: "215,616", -1234567: "-1,234,567", -100: "-100"} {
		if got := whole(n); got != want {
			t.Errorf("whole(%d): got %q, want %q", n, got, want)
		}
	}
}

func TestRealTimesKeepThreeDigits(t *testing.T) {
	for ms, want := range map[float64]string{0: "0.00 ms", 0.104: "0.10 ms", 9.99: "9.99 ms", 9.999: "10 ms", 244.7: "245 ms", 999.6: "1.00 s", 12610: "12.61 s"} {
		if got := realTime(ms); got != want {
			t.Errorf("realTime(%v): got %q, want %q", ms, got, want)
		}
	}
}

func TestFolderNamesAreOnePlainWord(t *testing.T) {
	for name, want := range map[string]string{
		"first-light": "first-light", "": "run", "../../etc": "..-..-etc", "a b/ä": "a-b--", "x\x00\n": "x--",
		strings.Repeat("a", 300): strings.Repeat("a", nameLength),
	} {
		if got := folderName(name); got != want {
			t.Errorf("folderName(%q): got %q, want %q", name, got, want)
		}
	}
}

func TestTablesAlign(t *testing.T) {
	properties := gopter.NewProperties(nil)
	cell := gen.SliceOfN(12, gen.OneConstOf("", "a", "é1", "12345", "a long cell"))
	properties.Property("the last column of every row starts where its head does", prop.ForAll(func(cells []string) bool {
		var rows [][]string
		for ; len(cells) >= 2; cells = cells[2:] {
			rows = append(rows, []string{cells[0], cells[1], "|"})
		}
		lines := strings.Split(strings.TrimSuffix(table([]column{{head: "#", right: true}, {head: "text"}, {head: "|"}}, rows), "\n"), "\n")
		for _, line := range lines {
			before, _, ok := strings.Cut(line, "|")
			first, _, _ := strings.Cut(lines[0], "|")
			if !ok || len([]rune(before)) != len([]rune(first)) {
				return false
			}
		}
		return len(lines) == len(rows)+1
	}, cell))
	properties.TestingRun(t)
}
