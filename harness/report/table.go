package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// column is one column of a table.
type column struct {
	head  string
	right bool // numbers
	limit int  // cells that are wider push their row aside; 0 = the widest cell
	drop  int  // place in the order in which columns go where there is no room; 0 = stays
}

const gap = "  "

// widths are those of the columns.
func widths(columns []column, rows [][]string) []int {
	list := make([]int, len(columns))
	for i, c := range columns {
		list[i] = utf8.RuneCountInString(c.head)
		for _, row := range rows {
			if w := utf8.RuneCountInString(row[i]); c.limit == 0 || w <= c.limit {
				list[i] = max(list[i], w)
			}
		}
	}
	return list
}

// narrowTable is table in at most so many characters a line; 0 = any number.
// Columns go in their order, then the cells of columns with a limit are cut.
func narrowTable(columns []column, rows [][]string, width int) string {
	if width == 0 {
		return table(columns, rows)
	}
	columns, rows = slices.Clone(columns), slices.Clone(rows)
	for r := range rows {
		rows[r] = slices.Clone(rows[r])
	}
	var left []string
	for next := nextDrop(columns); next >= 0 && excess(columns, rows, width) > 0; next = nextDrop(columns) {
		left = append(left, columns[next].head)
		columns = slices.Delete(columns, next, next+1)
		for r := range rows {
			rows[r] = slices.Delete(rows[r], next, next+1)
		}
	}
	cutCells(columns, rows, width)
	text := table(columns, rows)
	if len(left) > 0 {
		text += fmt.Sprintf("no room for: %s\n", strings.Join(left, ", "))
	}
	return text
}

// nextDrop is the column that goes first, or -1.
func nextDrop(columns []column) int {
	next := -1
	for i, c := range columns {
		if c.drop > 0 && (next < 0 || c.drop < columns[next].drop) {
			next = i
		}
	}
	return next
}

// excess is by how much a table is too wide.
func excess(columns []column, rows [][]string, width int) int {
	total := len(gap) * (len(columns) - 1)
	for _, w := range widths(columns, rows) {
		total += w
	}
	return total - width
}

// cutCells shortens the cells of columns with a limit: to it, and further where
// the table is too wide still.
func cutCells(columns []column, rows [][]string, width int) {
	const least = 8
	for i, c := range columns {
		if c.limit == 0 {
			continue
		}
		now, spare := widths(columns, rows)[i], -excess(columns, rows, width)
		most := max(min(now+spare, c.limit), min(now, least))
		for _, row := range rows {
			if runes := []rune(row[i]); len(runes) > most {
				row[i] = string(runes[:most-1]) + "…"
			}
		}
	}
}

// table aligns rows of cells under their heads.
func table(columns []column, rows [][]string) string {
	widths := widths(columns, rows)
	heads := make([]string, len(columns))
	for i, c := range columns {
		heads[i] = c.head
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
