package sim

import (
	"math"
	"reflect"
	"time"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/speakers"
)

// digest is a hash of what can be seen of a network: what speakers decided and
// tell, what they have to decide on, what is on its way, and when timers are due,
// as seen from now. What a damping with a memory keeps to itself is not in it.
func (e *Engine) digest() uint64 {
	h := newHash()
	for d := range e.devices {
		dev := &e.devices[d]
		if next := e.timer(d); next != speakers.Never {
			h.add(uint64(next - e.now))
		}
		for p := range e.prefixes {
			x := dev.core.Decision(int32(p))
			h.add(x.Bottleneck, uint64(len(x.Hops)), uint64(math.Float32bits(x.Told.Value)), state.HashPath(x.Told.Path), flags(x.Told.Present, x.Told.Valued, x.Told.Down, x.Told.Warm))
			for _, hop := range x.Hops {
				h.add(uint64(hop.Bundle), hop.Share)
			}
		}
	}
	e.hashUnder(&h)
	return uint64(h)
}

// forwarding is digest with the hardware of all devices.
func (e *Engine) forwarding() uint64 {
	h := hash(e.digest())
	e.hashTables(&h)
	return uint64(h)
}

// hashTables adds what hardware forwards.
func (e *Engine) hashTables(h *hash) {
	for d := range e.tables {
		for p := range e.topology.Prefixes {
			entry, ok := e.lookup(d, p)
			h.add(flags(ok), uint64(len(entry.Members)), uint64(len(entry.Dropped)))
			for _, m := range entry.Members {
				h.add(uint64(m.ID), uint64(m.Weight))
			}
		}
	}
}

// whole is a hash of everything that the future follows from while virtual time
// stands still, all that a core and its damping remember included.
func (e *Engine) whole() uint64 {
	h := newHash()
	for d := range e.devices {
		dev := &e.devices[d]
		if !dev.hashed {
			w := walk{hash: newHash(), seen: map[uintptr]uint64{}}
			w.value(reflect.ValueOf(dev.core).Elem())
			dev.hash, dev.hashed = uint64(w.hash), true
		}
		h.add(dev.hash, uint64(dev.drain), flags(dev.away))
		for p := range dev.told {
			h.add(dev.told[p].path)
		}
	}
	e.hashTables(&h)
	e.hashUnder(&h)
	return uint64(h)
}

// hashUnder adds what waits or is on its way, and the bundles and sessions.
func (e *Engine) hashUnder(h *hash) {
	for d := range e.devices {
		dev := &e.devices[d]
		h.add(uint64(len(dev.inbox)))
		for i := range dev.inbox {
			h.add(uint64(dev.inbox[i].bundle), uint64(dev.inbox[i].prefix))
			h.route(dev.inbox[i].route)
		}
		for i := range dev.others {
			in := &dev.others[i]
			h.add(uint64(in.Kind), uint64(in.Bundle), in.Capacity, uint64(in.Drain))
			if in.Settings != nil {
				w := walk{hash: *h, seen: map[uintptr]uint64{}}
				w.value(reflect.ValueOf(in.Settings).Elem())
				*h = w.hash
			}
		}
	}
	message := func(m *message, in time.Duration) {
		h.add(uint64(m.dir), uint64(m.prefix), flags(m.withdraw, m.dump, m.end), uint64(in))
		h.route(m.route)
	}
	e.schedule.waiting(message)
	for b := range e.sessions {
		x := &e.sessions[b]
		h.add(uint64(x.members), flags(x.up, x.unseen), uint64(x.closedBy))
		for side := range x.ends {
			h.add(e.heard(2*int32(b) + int32(side))...)
			for i := range x.ends[side].waiting {
				message(&x.ends[side].waiting[i], 0)
			}
		}
	}
}

func flags(list ...bool) (f uint64) {
	for i, b := range list {
		if b {
			f |= 1 << i
		}
	}
	return f
}

// hash mixes numbers in their order.
type hash uint64

func newHash() hash { return 0x9e3779b97f4a7c15 }

func (h *hash) add(list ...uint64) {
	x := uint64(*h)
	for _, v := range list { // splitmix64
		x = (x ^ v) + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	*h = hash(x)
}

func (h *hash) route(r *speakers.Route) {
	if r == nil {
		h.add(0)
		return
	}
	h.add(uint64(math.Float32bits(r.Value)), state.HashPath(r.Path), state.HashPath(r.Tags), flags(r.Valued), uint64(r.LocalPref), uint64(r.Origin))
}

// walk hashes a value with all that it points to, so that nothing that a core or
// a user's damping remembers is forgotten. Functions and channels count as equal.
type walk struct {
	hash hash
	seen map[uintptr]uint64 // pointers, numbered
}

// fixed are types that do not change while a core lives, and are large, or that say
// nothing of what comes.
var fixed = map[reflect.Type]bool{
	reflect.TypeFor[speakers.Config]():       true,
	reflect.TypeFor[[]damping.ToldStage]():   true,
	reflect.TypeFor[damping.Grid]():          true,
	reflect.TypeFor[[]damping.BundleStage](): true,
	reflect.TypeFor[speakers.History]():      true,
}

func (w *walk) value(v reflect.Value) {
	if fixed[v.Type()] {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		w.hash.add(flags(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.hash.add(uint64(v.Int()))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		w.hash.add(v.Uint())
	case reflect.Float32, reflect.Float64:
		w.hash.add(math.Float64bits(v.Float()))
	case reflect.String:
		w.hash.add(uint64(v.Len()))
		for _, c := range []byte(v.String()) {
			w.hash.add(uint64(c))
		}
	case reflect.Slice, reflect.Array:
		w.hash.add(uint64(v.Len()))
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			w.value(v.Field(i))
		}
	case reflect.Map:
		w.entries(v)
	case reflect.Pointer:
		w.pointer(v)
	case reflect.Interface:
		if !v.IsNil() {
			w.value(v.Elem())
		}
	}
}

// entries adds a map's, in whatever order they come.
func (w *walk) entries(v reflect.Value) {
	sum := uint64(v.Len())
	for it := v.MapRange(); it.Next(); {
		one := walk{hash: newHash(), seen: w.seen}
		one.value(it.Key())
		one.value(it.Value())
		sum += uint64(one.hash)
	}
	w.hash.add(sum)
}

func (w *walk) pointer(v reflect.Value) {
	if v.IsNil() {
		w.hash.add(0)
		return
	}
	n, ok := w.seen[v.Pointer()]
	if !ok {
		n = uint64(len(w.seen) + 1)
		w.seen[v.Pointer()] = n
	}
	w.hash.add(n)
	if !ok {
		w.value(v.Elem())
	}
}
