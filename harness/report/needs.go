package report

import (
	"fmt"
	"strings"
)

// Needs is what a run on the gobgp engine takes of a machine.
type Needs struct {
	Speakers, Sessions int
	Entries            int // Adj-RIB-In entries at the baseline
	Descriptors        int
	Limit              uint64 // descriptors that the process may have
}

// What was measured with Go 1.26 and GoBGP 3.37 on two cores. A session takes
// 98 KiB and 10 goroutines. Preset prometheus, 416 speakers with 1,328 sessions
// and 215,616 entries, has 1,070 MiB resident when it is quiet, and a run of it
// with all checks, which hold snapshots and end states beside the network,
// 1,948 MiB at most; a run of first-light, 100 sessions and 2,688 entries, 80
// MiB; a process that runs nothing 24 MiB. What the sessions do not explain is
// laid to the entries.
const (
	kib               = 1 << 10
	mib               = 1 << 20
	perSession        = 98 * kib
	perSessionRunning = 10 // goroutines
	processQuiet      = 24 * mib
	processJudged     = 60 * mib

	measuredSessions = 1328
	measuredEntries  = 215_616
	measuredQuiet    = 1070 * mib
	measuredJudged   = 1948 * mib

	perEntryQuiet  = float64(measuredQuiet-processQuiet-measuredSessions*perSession) / measuredEntries
	perEntryJudged = float64(measuredJudged-processJudged-measuredSessions*perSession) / measuredEntries
)

// Memory is what is expected resident in bytes: of the quiet network, and at
// most during a run that all checks judge.
func (n Needs) Memory() (quiet, judged int) {
	sessions := n.Sessions * perSession
	return processQuiet + sessions + int(perEntryQuiet*float64(n.Entries)),
		processJudged + sessions + int(perEntryJudged*float64(n.Entries))
}

// SimNeeds is what a run on the sim engine takes of a machine, for a person: no
// goroutine, socket or descriptor for a session. Its memory is not foretold.
func SimNeeds(speakers, sessions, entries int) string {
	return fmt.Sprintf("%-12s %s\n%-12s %s\n%-12s %s in all Adj-RIB-Ins at the baseline\n%-12s none\n",
		"speakers", whole(speakers), "sessions", whole(sessions), "entries", whole(entries), "descriptors")
}

// Text is the needs for a person.
func (n Needs) Text() string {
	quiet, judged := n.Memory()
	verdict := "enough"
	if uint64(n.Descriptors) > n.Limit {
		verdict = "too low"
	}
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("speakers", "%s", whole(n.Speakers))
	line("sessions", "%s", whole(n.Sessions))
	line("entries", "%s in all Adj-RIB-Ins at the baseline", whole(n.Entries))
	line("goroutines", "about %s, %d a session", whole(n.Sessions*perSessionRunning), perSessionRunning)
	line("descriptors", "%s, and the limit is %s: %s", whole(n.Descriptors), whole(int(min(n.Limit, 1<<62))), verdict)
	line("memory", "about %s MiB when quiet: %d MiB + %d KiB a session + %.1f KiB an entry",
		whole(quiet/mib), processQuiet/mib, perSession/kib, perEntryQuiet/kib)
	line("", "about %s MiB at most while all checks judge: %d MiB + %d KiB a session + %.1f KiB an entry",
		whole(judged/mib), processJudged/mib, perSession/kib, perEntryJudged/kib)
	return b.String()
}
