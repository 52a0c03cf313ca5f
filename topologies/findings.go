package topologies

// Finding is one thing that is wrong with a topology, for a reader of another
// format that knows where in its file the thing stands.
type Finding struct {
	Device, Bundle, Prefix int    // index of the thing that it is about, the others -1; all -1: the topology
	Field                  string // of the explicit form, such as "members" or "origins[2]"; empty for the thing as a whole
	Value                  string // as an error shows it, strings quoted; empty without a field
	Want                   string
}

// Findings gives what Validate says, piece by piece and in the same order; the rules
// judge names of ASICs beside.
func Findings(t *Topology, rules ...ASICRule) []Finding {
	var list []Finding
	t.check(func(f finding) {
		out := Finding{Device: -1, Bundle: -1, Prefix: -1, Field: f.field, Value: f.value, Want: f.want}
		switch f.part {
		case devicePart:
			out.Device = f.index
		case bundlePart:
			out.Bundle = f.index
		case prefixPart:
			out.Prefix = f.index
		}
		list = append(list, out)
	}, rules...)
	return list
}

// ParseLength reads metres from "300m", "80km" or "0.3km", as files hold them.
func ParseLength(s string) (int, bool) { return parseLength(s) }

// FormatLength prints metres as ParseLength reads them: 300m, 80km.
func FormatLength(metres int) string { return formatLength(metres) }
