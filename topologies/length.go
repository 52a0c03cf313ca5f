package topologies

import (
	"strconv"
	"strings"
)

const wantLength = "want a length such as 300m or 80km, from 0m to 5000km"

// parseLength reads metres from "300m", "80km" or "0.3km".
func parseLength(s string) (int, bool) {
	if km, ok := strings.CutSuffix(s, "km"); ok {
		whole, part, point := strings.Cut(km, ".")
		if point && (part == "" || len(part) > 3) {
			return 0, false
		}
		k, ok1 := digits(whole)
		m, ok2 := digits((part + "000")[:3])
		return k*1000 + m, ok1 && ok2
	}
	m, ok := strings.CutSuffix(s, "m")
	if !ok {
		return 0, false
	}
	return digits(m)
}

func digits(s string) (int, bool) {
	v, err := strconv.ParseUint(s, 10, 31)
	return int(v), err == nil
}

// formatLength prints metres as parseLength reads them.
func formatLength(metres int) string {
	if metres != 0 && metres%1000 == 0 {
		return strconv.Itoa(metres/1000) + "km"
	}
	return strconv.Itoa(metres) + "m"
}
