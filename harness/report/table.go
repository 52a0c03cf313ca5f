package report

import (
	"strings"
	"unicode/utf8"
)

// column is one column of a table.
type column struct {
	head  string
	right bool // numbers
	limit int  // cells that are wider push their row aside; 0 = the widest cell
}

const gap = "  "

// table aligns rows of cells under their heads.
func table(columns []column, rows [][]string) string {
	widths := make([]int, len(columns))
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i], widths[i] = c.head, utf8.RuneCountInString(c.head)
		for _, row := range rows {
			if w := utf8.RuneCountInString(row[i]); c.limit == 0 || w <= c.limit {
				widths[i] = max(widths[i], w)
			}
		}
	}
	var b strings.Builder
	for _, row := range append([][]string{heads}, rows...) {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString(gap)
			}
			pad := strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell)))
			if columns[i].right {
				line.WriteString(pad + cell)
			} else {
				line.WriteString(cell + pad)
			}
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}
