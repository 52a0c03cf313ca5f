package export

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// planeColours tell planes apart on white, also for most who see colours
// otherwise (Okabe and Ito, and darker mixes of them); they repeat after ten.
// Squares hold the plane's number too.
var planeColours = [...]string{
	"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d00", "#56b4e9", "#8b3a62", "#4d4dff", "#5a7d2a", "#b8860b",
}

const noPlane = "#707070"

func planeColour(plane int) string {
	if plane < 1 {
		return noPlane
	}
	return planeColours[(plane-1)%len(planeColours)]
}

// mostLines is how many bundles between two rows are still drawn one by one;
// more are one band.
const mostLines = 150

// writeSVG draws a picture by tier and plane, for people: lines as wide as the
// square root of their capacity, lengths beside them, fabrics that are alike
// as one stack. Tooltips name everything. It holds no script and brings its
// own background.
func writeSVG(t *topologies.Topology) ([]byte, error) {
	d := drawing{layout: newLayout(t), widest: widestBundle(t)}
	high := d.low + 164
	fmt.Fprintf(&d.b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %s %s\" width=\"%s\" height=\"%s\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#222\">\n",
		num(d.wide), num(high), num(d.wide), num(high))
	fmt.Fprintf(&d.b, "<title>%s</title>\n", escape(t.Summary()))
	d.b.WriteString("<style>.l text{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}.n{fill:#fff;font-size:9px;text-anchor:middle}.s{fill:#555}</style>\n")
	fmt.Fprintf(&d.b, "<rect width=\"%s\" height=\"%s\" fill=\"#fff\" stroke=\"#ccc\"/>\n", num(d.wide), num(high))
	d.head()
	for _, p := range d.panels {
		d.panel(p)
	}
	d.bundles()
	d.devices()
	d.labels()
	d.legend(high - 46)
	d.b.WriteString("</svg>\n")
	return []byte(d.b.String()), nil
}

type drawing struct {
	*layout
	b      strings.Builder
	widest uint64
	// What is drawn that the legend speaks of.
	banded, numbered bool
}

func num(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

func (d *drawing) text(x, y float64, attributes, s string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	fmt.Fprintf(&d.b, "<text x=\"%s\" y=\"%s\"%s>%s</text>\n", num(x), num(y), attributes, escape(s))
}

// head is the topology's name and its counts.
func (d *drawing) head() {
	name, counts, _ := strings.Cut(d.t.Summary(), ": ")
	d.text(margin, 30, `font-size="18" font-weight="bold"`, name)
	d.text(margin, 48, `class="s"`, counts)
}

// panel is a region's ground, and that of its stacks.
func (d *drawing) panel(p *panel) {
	top := d.low
	for _, q := range d.squares {
		if q.of == p {
			top = min(top, q.y)
		}
	}
	fmt.Fprintf(&d.b, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"6\" fill=\"#f4f6f8\" stroke=\"#d5dae0\"/>\n",
		num(p.x), num(top-18), num(p.wide), num(d.low-top+100))
	title := "no region"
	if p.region != "" {
		title = "region " + p.region
	}
	d.text(p.x+10, d.low+70, `font-size="13" font-weight="bold"`, title)
	for _, s := range p.stacks {
		d.stack(s)
	}
}

func (d *drawing) stack(s *stack) {
	top := d.low
	for _, i := range s.devices[0] {
		top = min(top, d.squares[i].y)
	}
	for shade := min(len(s.fabrics), 4) - 1; shade >= 0; shade-- {
		off := 4 * float64(shade)
		fmt.Fprintf(&d.b, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"4\" fill=\"#fff\" stroke=\"#b8c0c8\"/>\n",
			num(s.x-4+off), num(top-16+off), num(s.wide+8), num(d.low-top+32))
	}
	d.text(s.x+s.wide/2, d.low+44, `text-anchor="middle"`, s.title())
	if len(s.fabrics) > 1 {
		d.text(s.x+s.wide/2, d.low+58, `text-anchor="middle" class="s"`, s.fabrics[0]+" .. "+s.fabrics[len(s.fabrics)-1])
	}
}

func (s *stack) title() string {
	if len(s.fabrics) == 1 {
		return strings.TrimSpace("fabric " + s.fabrics[0] + " " + s.kind)
	}
	if s.kind == "" {
		return fmt.Sprintf("%d fabrics alike", len(s.fabrics))
	}
	return fmt.Sprintf("%d %s fabrics alike", len(s.fabrics), s.kind)
}

// bundles draws the lines, those of one group together.
func (d *drawing) bundles() {
	for _, g := range d.groups() {
		opacity := "0.75"
		if len(g.lines) > 40 { // so that what lies below others is seen
			opacity = "0.45"
		}
		fmt.Fprintf(&d.b, "<g fill=\"none\" stroke-opacity=\"%s\">\n", opacity)
		if len(g.lines) > mostLines && !g.arcs {
			d.band(g)
		} else {
			for _, n := range g.lines {
				d.line(n)
			}
		}
		d.b.WriteString("</g>\n")
	}
}

func (d *drawing) line(n line) {
	u := &d.t.Bundles[n.bundle]
	plane := d.t.Devices[n.a.device].Plane
	if plane == 0 {
		plane = d.t.Devices[n.b.device].Plane
	}
	path := ""
	aside := 5 * float64(n.lane) // several bundles of one pair run beside each other
	if n.a.y == n.b.y {
		y := n.a.y - d.side()/2
		control := y - 4.0/3*(arcHeight(n.a, n.b)+aside)
		path = fmt.Sprintf("M%s %sC%s %s %s %s %s %s", num(n.a.x), num(y), num(n.a.x), num(control), num(n.b.x), num(control), num(n.b.x), num(y))
	} else {
		path = fmt.Sprintf("M%s %sL%s %s", num(n.a.x+aside), num(n.a.y-d.side()/2), num(n.b.x+aside), num(n.b.y+d.side()/2))
	}
	fmt.Fprintf(&d.b, "<path d=\"%s\" stroke=\"%s\" stroke-width=\"%s\" data-bundles=\"%d\"><title>%s</title></path>\n",
		path, planeColour(plane), num(lineWidth(u.Capacity(u.Members), d.widest)), n.alike+1,
		escape(fmt.Sprintf("%s%s: %s, %s", u.Name, andAlike(n.alike), capacityText(u), topologies.FormatLength(u.Length))))
}

// band stands for lines that would be one dark area anyway.
func (d *drawing) band(g *group) {
	d.banded = true
	count := 0
	a, b := [2]float64{g.lines[0].a.x, g.lines[0].a.x}, [2]float64{g.lines[0].b.x, g.lines[0].b.x}
	for _, n := range g.lines {
		count += n.alike + 1
		a, b = [2]float64{min(a[0], n.a.x), max(a[1], n.a.x)}, [2]float64{min(b[0], n.b.x), max(b[1], n.b.x)}
	}
	low, high := g.lines[0].a.y-d.side()/2, g.lines[0].b.y+d.side()/2
	fmt.Fprintf(&d.b, "<path d=\"M%s %sL%s %sL%s %sL%s %sZ\" fill=\"#c8d0d8\" stroke=\"#707070\" data-bundles=\"%d\"><title>%s</title></path>\n",
		num(a[0]), num(low), num(b[0]), num(high), num(b[1]), num(high), num(a[1]), num(low), count,
		escape(fmt.Sprintf("%d bundles %s, %s", count, g.class, strings.Join(d.sizes(g), ", "))))
}

func andAlike(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d alike", n)
}

func capacityText(u *topologies.Bundle) string {
	return fmt.Sprintf("%d x %s = %s", u.Members, yamltree.FormatCapacity(u.Speed), yamltree.FormatCapacity(u.Capacity(u.Members)))
}

// devices draws the squares over the lines.
func (d *drawing) devices() {
	order := make([]int, 0, len(d.squares))
	for i := range d.squares {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range order {
		q, v, half := d.squares[i], &d.t.Devices[i], d.side()/2
		fmt.Fprintf(&d.b, "<g data-devices=\"%d\"><title>%s</title><rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"2\" fill=\"%s\" stroke=\"#333\" stroke-width=\"0.8\"/>",
			len(q.alike)+1, escape(d.deviceText(q)), num(q.x-half), num(q.y-half), num(2*half), num(2*half), planeColour(v.Plane))
		if v.Plane > 0 && v.Plane < 100 && half >= 6 {
			d.numbered = true
			fmt.Fprintf(&d.b, "<text x=\"%s\" y=\"%s\" class=\"n\">%d</text>", num(q.x), num(q.y+3.2), v.Plane)
		}
		d.b.WriteString("</g>\n")
	}
}

func (d *drawing) deviceText(q *square) string {
	v := &d.t.Devices[q.device]
	text := fmt.Sprintf("%s%s: %s", v.Name, andAlike(len(q.alike)), v.Role)
	if v.Plane > 0 {
		text += fmt.Sprintf(", plane %d", v.Plane)
	}
	text += fmt.Sprintf(", AS %d, %s", v.ASN, v.ASIC)
	if v.Units > 1 {
		text += fmt.Sprintf(" x %d", v.Units)
	}
	members := 0
	for _, b := range d.x.Of[q.device] {
		members += d.t.Bundles[b].Members
	}
	return text + fmt.Sprintf(", %d member links, %s", members, yamltree.FormatCapacity(d.x.Full[q.device]))
}

// group is the lines that one label speaks of: of one class, from one stack or
// one panel's own row; of arcs, between two panels or inside one.
type group struct {
	class string
	arcs  bool
	lines []line
}

type groupKey struct {
	class  string
	in     *stack
	of, to *panel
}

func (d *drawing) groups() []*group {
	var list []*group
	found := map[groupKey]*group{}
	for _, n := range d.lines {
		key := groupKey{class: classOf(d.role(n.a), d.role(n.b)), in: n.a.in, of: n.a.of}
		if n.a.y == n.b.y {
			key.to = n.b.of
		}
		g := found[key]
		if g == nil {
			g = &group{class: key.class, arcs: n.a.y == n.b.y}
			found[key], list = g, append(list, g)
		}
		g.lines = append(g.lines, n)
	}
	return list
}

// sizes says what the bundles of a group are: their number and capacity, and
// their length.
func (d *drawing) sizes(g *group) []string {
	count, sum := 0, uint64(0)
	first := d.t.Bundles[g.lines[0].bundle]
	low, high, short, long := ^uint64(0), uint64(0), first.Length, first.Length
	same := true
	for _, n := range g.lines {
		u := d.t.Bundles[n.bundle]
		c := u.Capacity(u.Members)
		count, sum = count+n.alike+1, sum+c*uint64(n.alike+1)
		low, high, short, long = min(low, c), max(high, c), min(short, u.Length), max(long, u.Length)
		same = same && u.Members == first.Members && u.Speed == first.Speed
	}
	each := rounded(low) + " to " + rounded(high)
	if same {
		each = fmt.Sprintf("%d x %s", first.Members, yamltree.FormatCapacity(first.Speed))
	}
	length := topologies.FormatLength(short)
	if short != long {
		length += " to " + topologies.FormatLength(long)
	}
	if count == 1 {
		return []string{each + " = " + rounded(sum), length}
	}
	return []string{fmt.Sprintf("%d x (%s) = %s", count, each, rounded(sum)), length}
}

// rounded is a capacity with at most one decimal, for the eye.
func rounded(bits uint64) string {
	unit := uint64(1)
	for unit < 1e15 && bits >= 1000*unit {
		unit *= 1000
	}
	tenths := unit / 10
	if tenths == 0 {
		return yamltree.FormatCapacity(bits)
	}
	return yamltree.FormatCapacity((bits + tenths/2) / tenths * tenths)
}

// labels stand over everything: what the rows are, and what the lines are.
func (d *drawing) labels() {
	d.b.WriteString("<g class=\"l\">\n")
	d.rowLabels(d.shared, margin)
	for _, p := range d.panels {
		d.rowLabels(p.own, p.x+10)
		for _, s := range p.stacks {
			d.rowLabels(s.devices[0], s.x-labelWide+10)
		}
	}
	taken := map[[2]float64]int{}
	for _, g := range d.groups() {
		sizes := d.sizes(g)
		if g.arcs {
			d.arcLabel(g, g.class+", "+strings.Join(sizes, ", "))
			continue
		}
		x, a := margin, g.lines[0].a
		if a.in != nil {
			x = a.in.x - labelWide + 10
		} else if a.of != nil {
			x = a.of.x + 10
		}
		place := [2]float64{x, a.y}
		y := a.y - rowGap/2 + labelOffset(taken[place])
		taken[place]++
		name := g.class + ", " + sizes[1]
		d.ground(x-3, y-18, 6+max(textWide(name), 0.9*textWide(sizes[0])), 27)
		d.text(x, y-8, `font-style="italic"`, name)
		d.text(x, y+5, `class="s" font-size="10"`, sizes[0])
	}
	d.b.WriteString("</g>\n")
}

// labelOffset moves the labels of several classes that begin in one row apart,
// such as those of bundles that skip a tier: below the first, above it, ...
func labelOffset(nth int) float64 {
	const high = 27
	if nth%2 == 1 {
		return high * float64(nth/2+1)
	}
	return -high * float64(nth/2)
}

// textWide is about how wide text of the usual size is.
func textWide(s string) float64 { return 5.9 * float64(len(s)) }

// ground is what makes a label readable over lines that pass below it.
func (d *drawing) ground(x, y, wide, high float64) {
	fmt.Fprintf(&d.b, "<rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"3\" fill=\"#fff\" fill-opacity=\"0.8\"/>\n", num(x), num(y), num(wide), num(high))
}

// rowLabels names the rows of one place: how many, and of what.
func (d *drawing) rowLabels(devices []int, x float64) {
	for i, n := range devices {
		v := &d.t.Devices[n]
		if i > 0 && d.t.Devices[devices[i-1]].Role == v.Role {
			continue
		}
		count, same := 0, true
		for _, m := range devices {
			if o := &d.t.Devices[m]; o.Role == v.Role {
				count += len(d.squares[m].alike) + 1
				same = same && o.ASIC == v.ASIC && o.Units == v.Units
			}
		}
		what := v.ASIC
		switch {
		case !same:
			what = "several kinds"
		case v.Units > 1:
			what += fmt.Sprintf(" x %d", v.Units)
		}
		d.text(x, d.squares[n].y-1, `font-weight="bold"`, plural(count, v.Role))
		d.text(x, d.squares[n].y+11, `class="s" font-size="10"`, what)
	}
}

func plural(n int, r topologies.Role) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", r)
	}
	return fmt.Sprintf("%d %ss", n, r)
}

// arcLabel stands over the highest arc of a group.
func (d *drawing) arcLabel(g *group, s string) {
	left, right, high := g.lines[0].a.x, g.lines[0].a.x, 0.0
	for _, n := range g.lines {
		left, right = min(left, n.a.x, n.b.x), max(right, n.a.x, n.b.x)
		high = max(high, arcHeight(n.a, n.b))
	}
	x, y := (left+right)/2, g.lines[0].a.y-d.side()/2-high-6
	wide := textWide(s)
	d.ground(x-wide/2, y-11, wide, 15) // other arcs may pass here
	d.text(x, y, `text-anchor="middle"`, s)
}

// legend says what widths and colours mean.
func (d *drawing) legend(y float64) {
	var capacities []uint64
	for i := range d.t.Bundles {
		capacities = append(capacities, d.t.Bundles[i].Capacity(d.t.Bundles[i].Members))
	}
	slices.Sort(capacities)
	capacities = slices.Compact(capacities)
	if n := len(capacities); n > 5 { // the ends and what is between
		capacities = []uint64{capacities[0], capacities[n/4], capacities[n/2], capacities[3*n/4], capacities[n-1]}
	}
	x := margin
	for _, c := range capacities {
		fmt.Fprintf(&d.b, "<path d=\"M%s %sh30\" stroke=\"#707070\" stroke-width=\"%s\"/>\n", num(x), num(y-4), num(lineWidth(c, d.widest)))
		text := rounded(c)
		d.text(x+36, y, "", text)
		x += 36 + 7*float64(len(text)) + 20
	}
	d.text(margin, y+18, `class="s"`, "A line is a bundle, as wide as the root of its capacity. "+d.planesText())
	text := "A stack stands for fabrics that are alike: one of them is drawn."
	if d.banded {
		text += fmt.Sprintf(" A grey area is more than %d bundles between two rows.", mostLines)
	}
	d.text(margin, y+32, `class="s"`, text)
}

// planesText says how planes are told apart.
func (d *drawing) planesText() string {
	last := 0
	for i := range d.t.Devices {
		last = max(last, d.t.Devices[i].Plane)
	}
	text := "Colours are planes"
	if d.numbered {
		text = "Colours and numbers are planes"
	}
	if last > len(planeColours) {
		text += fmt.Sprintf("; colours come again after %d", len(planeColours))
	}
	return text + "."
}
