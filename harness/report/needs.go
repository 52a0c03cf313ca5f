package report

import "fmt"

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

// What was measured of the sim engine with Go 1.26 on two cores, most of a
// process's resident memory. A run without events of preset hyperion, 11,680
// sessions and 8,417,520 entries, 8,438 MiB; of prometheus-spread, 1,472 and
// 227,424, 332 MiB: through these two go what a session and an entry take. In
// between hub-and-spoke, 644 and 92,180, 163 MiB, foretold 149. The 10 events of
// scenario prometheus with all checks 621 MiB, and the 18 of first-light 38,
// foretold 37.
const (
	simProcess        = 24 * mib
	simPerSession     = 66 * kib
	simPerEntry       = 0.93 * kib
	simMeasuredJudged = 621 * mib

	simPerEntryJudged = float64(simMeasuredJudged-simProcess-measuredSessions*simPerSession) / measuredEntries
)

// bothPerEntry is what a run on both engines keeps of sim in bytes, for each
// entry and settled moment, until gobgp gets there: about 75 MiB for each of the
// 11 moments of scenario prometheus, measured.
const bothPerEntry = float64(75*mib) / measuredEntries

// SimNeeds is what a run on the sim engine takes of a machine: no goroutine,
// socket or descriptor for a session.
type SimNeeds struct {
	Speakers, Sessions int
	Entries            int // Adj-RIB-In entries at the baseline
}

// Memory is what is expected resident in bytes at most: of a run without events,
// and of one with events that all checks judge.
func (n SimNeeds) Memory() (bringUp, judged int) {
	sessions := simProcess + n.Sessions*simPerSession
	return sessions + int(simPerEntry*float64(n.Entries)), sessions + int(simPerEntryJudged*float64(n.Entries))
}

// Text is the needs for a person.
func (n SimNeeds) Text() string {
	return network(n.Speakers, n.Sessions, n.Entries) + needsLine("descriptors", "none for sessions") + n.memoryText("memory")
}

func (n SimNeeds) memoryText(name string) string {
	bringUp, judged := n.Memory()
	form := func(of float64) string {
		return fmt.Sprintf("%d MiB + %d KiB a session + %.2f KiB an entry", simProcess/mib, simPerSession/kib, of/kib)
	}
	return needsLine(name, "about %s MiB at most without events: %s", whole(bringUp/mib), form(simPerEntry)) +
		needsLine("", "about %s MiB at most while all checks judge events: %s", whole(judged/mib), form(simPerEntryJudged))
}

// BothNeeds says for a person what a run on both engines takes: sim comes first,
// and its state at each settled moment is kept while gobgp runs.
func BothNeeds(n Needs, moments int) string {
	_, judged := n.Memory()
	kept := int(bothPerEntry * float64(n.Entries) * float64(moments))
	return n.Text() + needsLine("on both", "about %s MiB at most: the last, and %.2f KiB an entry for each of %s settled moments of sim",
		whole((judged+kept)/mib), bothPerEntry/kib, whole(moments)) +
		SimNeeds{n.Speakers, n.Sessions, n.Entries}.memoryText("sim before")
}

func needsLine(name, format string, args ...any) string {
	return fmt.Sprintf("%-12s %s\n", name, fmt.Sprintf(format, args...))
}

func network(speakers, sessions, entries int) string {
	return needsLine("speakers", "%s", whole(speakers)) + needsLine("sessions", "%s", whole(sessions)) +
		needsLine("entries", "%s in all Adj-RIB-Ins at the baseline", whole(entries))
}

// Text is the needs for a person.
func (n Needs) Text() string {
	quiet, judged := n.Memory()
	verdict := "enough"
	if uint64(n.Descriptors) > n.Limit {
		verdict = "too low"
	}
	return network(n.Speakers, n.Sessions, n.Entries) +
		needsLine("goroutines", "about %s, %d a session", whole(n.Sessions*perSessionRunning), perSessionRunning) +
		needsLine("descriptors", "%s, and the limit is %s: %s", whole(n.Descriptors), whole(int(min(n.Limit, 1<<62))), verdict) +
		needsLine("memory", "about %s MiB when quiet: %d MiB + %d KiB a session + %.1f KiB an entry",
			whole(quiet/mib), processQuiet/mib, perSession/kib, perEntryQuiet/kib) +
		needsLine("", "about %s MiB at most while all checks judge: %d MiB + %d KiB a session + %.1f KiB an entry",
			whole(judged/mib), processJudged/mib, perSession/kib, perEntryJudged/kib)
}
