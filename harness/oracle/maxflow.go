package oracle

import (
	"math"
	"slices"
)

// True is, by device, the most traffic in bits/s that the graph can carry from
// the device to the prefix at its index in the topology: a maximum flow over the
// bundles as they are in the state, which should be an undamped one.
//
// A device may send over a session where the neighbour tells it the prefix and it
// does not drop the route. What is told of a route depends on where it was learned
// (valley-free export), so what a device may do with traffic depends on where that
// came from: what came from above, or from the same tier, may only go down. Traffic
// ends at an origin, which takes as much as the value that it tells at most, and
// sends nothing on. How a device splits traffic is free: weights, multipath sets and
// the length of paths do not matter. So no value that is told for less than this
// promises too much, and one that is told for more does.
//
// An origin has its own value, a device without a route 0.
func (s *State) True(prefix int) []uint64 {
	f := s.flowTo(prefix)
	values := make([]uint64, len(s.o.asn))
	for d := range values {
		if s.entry(d, prefix).reached {
			values[d] = f.most(freely(d), f.sink)
		}
	}
	return values
}

// Traffic is at one of two nodes of a device: that which may go anywhere, and that
// which may only go down.
func freely(device int) int32    { return int32(2 * device) }
func downwards(device int) int32 { return int32(2*device + 1) }

// flowTo is the graph of all that traffic to the prefix may use.
func (s *State) flowTo(prefix int) *flow {
	devices := len(s.o.asn)
	f := newFlow(2*devices + 1)
	f.sink = int32(2 * devices)
	for d := range devices {
		e := s.entry(d, prefix)
		f.arc(freely(d), downwards(d), math.MaxUint64)
		if e.local {
			f.arc(downwards(d), f.sink, s.constant(d, prefix))
			continue
		}
		for i := s.o.first[d]; i < s.o.first[d+1]; i++ {
			if !s.usable(d, i, prefix) {
				continue
			}
			switch peer := int(s.o.ends[i].peer); {
			case s.o.role[peer] > s.o.role[d]:
				f.arc(freely(d), freely(peer), s.cap[i])
			case s.o.role[peer] == s.o.role[d]:
				f.arc(freely(d), downwards(peer), s.cap[i])
			default:
				f.arc(downwards(d), downwards(peer), s.cap[i])
			}
		}
	}
	f.close()
	return f
}

// constant is what an origin of the prefix takes, in bits/s.
func (s *State) constant(device, prefix int) uint64 {
	if _, conditional := s.o.aggregates[prefix]; conditional {
		return s.open[place{device, prefix}]
	}
	return s.o.value[prefix][slices.Index(s.o.origins[prefix], int32(device))]
}

// usable tells whether a candidate comes over the session end and the device does
// not drop it, whether or not it is among the best.
func (s *State) usable(d int, i int32, prefix int) bool {
	peer, r := int(s.o.ends[i].peer), s.rules[d]
	e := s.entry(peer, prefix)
	return s.cap[i] > 0 && !r.drained && s.exports(peer, d, e) && s.o.asn[peer] != s.o.asn[d] &&
		!(r.rejectDown && e.down) && !(r.rejectWarm && e.warm) && !slices.Contains(r.rejectClasses, s.o.classes[prefix])
}

// flow finds maximum flows in one graph by Dinic's algorithm, in whole bits/s.
// Gonum's network.MaxFlowDinic computes in float64 and copies its graph into maps
// for each flow; preset prometheus has 68,224 flows over 164 graphs.
type flow struct {
	sink  int32
	to    []int32   // by arc: the node where it ends; its reverse is arc i^1
	of    [][]int32 // by node: the arcs that leave it
	full  []uint64  // by arc: its capacity
	left  []uint64  // by arc: what a flow can still use of it
	level []int32   // by node: hops from the source, 0 = not reached, the source 1
	next  []int32   // by node: the first arc that may still carry something
	queue []int32
}

func newFlow(nodes int) *flow {
	return &flow{of: make([][]int32, nodes), level: make([]int32, nodes), next: make([]int32, nodes)}
}

func (f *flow) arc(from, to int32, capacity uint64) {
	f.of[from] = append(f.of[from], int32(len(f.to)))
	f.of[to] = append(f.of[to], int32(len(f.to))+1)
	f.to = append(f.to, to, from)
	f.full = append(f.full, capacity, 0)
}

// close ends the making of the graph.
func (f *flow) close() { f.left = make([]uint64, len(f.full)) }

// most is the maximum flow from a node to another, at most the largest uint64.
func (f *flow) most(source, sink int32) (total uint64) {
	copy(f.left, f.full)
	for f.reach(source, sink) {
		clear(f.next)
		for {
			pushed := f.push(source, sink, math.MaxUint64)
			if pushed == 0 {
				break
			}
			total = addSaturating(total, pushed)
		}
	}
	return total
}

// reach works out the levels, and tells whether the sink has one.
func (f *flow) reach(source, sink int32) bool {
	clear(f.level)
	f.level[source] = 1
	f.queue = append(f.queue[:0], source)
	for i := 0; i < len(f.queue) && f.level[sink] == 0; i++ {
		node := f.queue[i]
		for _, a := range f.of[node] {
			if to := f.to[a]; f.left[a] > 0 && f.level[to] == 0 {
				f.level[to] = f.level[node] + 1
				f.queue = append(f.queue, to)
			}
		}
	}
	return f.level[sink] > 0
}

// push sends at most so much along one path that goes up a level with each hop.
func (f *flow) push(node, sink int32, most uint64) uint64 {
	if node == sink {
		return most
	}
	for ; int(f.next[node]) < len(f.of[node]); f.next[node]++ {
		a := f.of[node][f.next[node]]
		to := f.to[a]
		if f.left[a] == 0 || f.level[to] != f.level[node]+1 {
			continue
		}
		if pushed := f.push(to, sink, min(most, f.left[a])); pushed > 0 {
			f.left[a] -= pushed
			f.left[a^1] = addSaturating(f.left[a^1], pushed)
			return pushed
		}
	}
	return 0
}
