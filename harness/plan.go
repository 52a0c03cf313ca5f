package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/topologies"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// ReadPlan reads a damping plan of its own: a preset's name, or a mapping as
// damping.PlanOf describes it. The error holds every mistake, each with file,
// line, column, field, value and what was wanted.
func ReadPlan(file string, data []byte, sizes damping.Sizes) (damping.Plan, error) {
	doc, err := yamltree.Parse(file, data)
	if err != nil {
		return damping.Plan{}, err
	}
	plan := readPlan(doc.Root(), sizes)
	return plan, doc.Err()
}

// readPlan reads a plan from a node of a document and notes what is wrong there.
// A field that is missing is the default preset.
func readPlan(n yamltree.Node, sizes damping.Sizes) damping.Plan {
	if !n.IsMap() {
		name := n.Enum(damping.PresetBagDefault, damping.Presets()...)
		p, err := damping.PresetFor(name, sizes)
		if err != nil {
			n.Reject("%v", err)
		}
		return damping.Uniform(p)
	}
	tree := planTree{n.Field(), map[string]yamltree.Node{}}
	plan, err := damping.PlanOf(tree.value(n), sizes)
	tree.reject(err)
	return plan
}

// readDamping reads what damps the network. A plan without rules is one pipeline
// everywhere.
func (sc *Scenario) readDamping(n yamltree.Node) {
	plan := readPlan(n, damping.Sizes{Step: sc.Topology.SmallestSpeed()})
	if err := placed(plan, sc.Topology); err != nil {
		n.Reject("%v", err)
		return
	}
	sc.Damping = plan.Default
	if len(plan.Bundle)+len(plan.Told) > 0 {
		sc.Plan = &plan
	}
}

// placed tells whether the rules of a plan name roles and classes that there are:
// one with a misspelt name would never be used.
func placed(p damping.Plan, t *topologies.Topology) error {
	bundles, prefixes := map[string]bool{}, map[string]bool{}
	for _, b := range t.Bundles {
		bundles[t.BundleClass(b)] = true
	}
	for _, x := range t.Prefixes {
		prefixes[x.Class] = true
	}
	unknown := func(place string, i int, class, things string, known map[string]bool) error {
		if class == "" || known[class] {
			return nil
		}
		return fmt.Errorf("plan %q: %s rule %d: class %q: the topology's %s have %s",
			p.Name, place, i+1, class, things, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
	}
	for i, r := range p.Bundle {
		if err := unknown("bundle", i, r.Class, "bundles", bundles); err != nil {
			return err
		}
	}
	for i, r := range p.Told {
		if _, ok := topologies.ParseRole(r.Role); r.Role != "" && !ok {
			return fmt.Errorf("plan %q: told rule %d: role %q: want rack, spine, edge, bag, hub or backbone", p.Name, i+1, r.Role)
		}
		if err := unknown("told", i, r.Class, "prefixes", prefixes); err != nil {
			return err
		}
	}
	return nil
}

// planTree is the decoded tree of a plan with the nodes that it came from.
type planTree struct {
	root  string // the path of the plan in the document
	nodes map[string]yamltree.Node
}

// value decodes a node: scalars stay as the file writes them.
func (t planTree) value(n yamltree.Node) any {
	t.nodes[strings.TrimPrefix(strings.TrimPrefix(n.Field(), t.root), ".")] = n
	switch {
	case n.IsMap():
		m := map[string]any{}
		for _, e := range n.Entries() {
			m[e.Name] = t.value(e.Node)
		}
		return m
	case n.IsList():
		list := []any{}
		for _, item := range n.List() {
			list = append(list, t.value(item))
		}
		return list
	}
	return n.Scalar("")
}

// reject notes the errors of a plan at the nodes that they are about. One of the
// whole plan, such as stages that settle too late together, stands at the plan.
func (t planTree) reject(err error) {
	switch e := err.(type) {
	case nil:
	case *damping.FieldError:
		t.at(e.Field).Reject("%v", e.Err)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			t.reject(one)
		}
	default:
		t.nodes[""].Reject("%v", err)
	}
}

// at is the node of a field, or of what it is missing from.
func (t planTree) at(field string) yamltree.Node {
	for {
		if n, ok := t.nodes[field]; ok {
			return n
		}
		field = field[:max(strings.LastIndexAny(field, ".["), 0)]
	}
}
