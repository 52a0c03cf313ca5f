package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// shrinkTime is how long one input is made smaller, once the search is over.
const shrinkTime = 15 * time.Second

// entryHead is the first line of an entry of a corpus.
const entryHead = "go test fuzz v1"

// shrunk is a smaller entry of a corpus that fails in the same way when it is run
// alone, or the entry itself: bytes and text lose runs of a half, a quarter, and so on
// down to one byte, for as long as the failure stays the same. Fails tells in which
// way an entry fails; empty = it does not.
func shrunk(ctx context.Context, entry []byte, fails func([]byte) string) []byte {
	want := fails(entry)
	lines := strings.Split(strings.TrimRight(string(entry), "\n"), "\n")
	if want == "" || lines[0] != entryHead {
		return entry
	}
	for i := 1; i < len(lines); i++ {
		kind, value, ok := bytesOf(lines[i])
		if !ok {
			continue
		}
		for size := (len(value) + 1) / 2; size >= 1; size /= 2 {
			for from := 0; from < len(value) && ctx.Err() == nil; {
				less := value[:from] + value[min(from+size, len(value)):]
				was := lines[i]
				lines[i] = fmt.Sprintf("%s(%s)", kind, strconv.Quote(less))
				if fails([]byte(strings.Join(lines, "\n")+"\n")) == want {
					value = less
				} else {
					lines[i] = was
					from += size
				}
			}
		}
	}
	return []byte(strings.Join(lines, "\n") + "\n")
}

// bytesOf reads a value of an entry that is bytes or text.
func bytesOf(line string) (kind, value string, ok bool) {
	for _, kind := range []string{"[]byte", "string"} {
		quoted, found := strings.CutPrefix(line, kind+"(")
		if quoted, closed := strings.CutSuffix(quoted, ")"); found && closed {
			value, err := strconv.Unquote(quoted)
			return kind, value, err == nil
		}
	}
	return "", "", false
}

// shrink makes the input smaller and gives the entry, under the name that Go would
// give it. It tries entries in the target's corpus, where go test finds them.
func (n *night) shrink(ctx context.Context, p *part, binary string, entry []byte) (name string, smaller []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(n.cfg.shrink, shrinkTime))
	defer cancel()
	corpus := filepath.Join(p.folder, "testdata", "fuzz", p.Target)
	if err := os.MkdirAll(corpus, 0o777); err != nil {
		return "", nil, err
	}
	place := filepath.Join(corpus, "shrinking")
	defer os.Remove(place)
	var failed error
	smaller = shrunk(ctx, entry, func(candidate []byte) string {
		if failed != nil {
			return ""
		}
		if failed = os.WriteFile(place, candidate, 0o666); failed != nil {
			return ""
		}
		e, err := n.alone(ctx, p, binary, "shrinking", n.log(p.name()+" shrinking"))
		if failed = err; err != nil || e.code == 0 || ctx.Err() != nil {
			return ""
		}
		return n.keyOf(p, e.output)
	})
	if failed != nil {
		return "", nil, failed
	}
	return fmt.Sprintf("%x", sha256.Sum256(smaller))[:16], smaller, nil
}

// alone runs one entry of a target's corpus, as go test -run does.
func (n *night) alone(ctx context.Context, p *part, binary, entry, log string) (ended, error) {
	return child{
		dir: p.folder, env: n.env(n.cfg.seed), quit: true, until: time.Now().Add(repeatTime), log: log,
		args: []string{binary, "-test.run=^" + p.Target + "$/^" + entry + "$", "-test.v"},
	}.run(ctx)
}
