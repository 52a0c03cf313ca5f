package conform

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/speakers/linkbw"
)

// rt76 are the values of RT-7.6's 64 peers in Mb/s: 32 x 10, 16 x 20, 8 x 40, 8
// x 80, 1600 together.
func rt76() (list []float32) {
	for _, group := range []struct {
		peers int
		mbps  float32
	}{{32, 10}, {16, 20}, {8, 40}, {8, 80}} {
		list = append(list, slices.Repeat([]float32{group.mbps * 1e6 / 8}, group.peers)...)
	}
	return list
}

func manyNames() (names []string) {
	for i := range manyPeers {
		names = append(names, fmt.Sprintf("m%d", i+1))
	}
	return names
}

// sumChecks ask the device for the sum of what it received, on session c.
func sumChecks() []Check { return append(pairSums(), manySums()...) }

// sumCheck is a check whose word is the value that session c is told.
func sumCheck(name, text, want string, needs []Facility, ask func(t *trial)) Check {
	return Check{Name: name, Sent: text, Refs: []string{"RFC 10005 3.4", "RT-7.6"}, Accept: []string{want}, Needs: needs, ask: func(t *trial) string {
		ask(t)
		return t.told(want)
	}}
}

// told waits for a sum: a device may take in what comes over different sessions in
// any order and decide late, and the last told value counts.
func (t *trial) told(want string) string {
	t.await(func() bool { return value(t.bench.sessions["c"].table[t.prefix]) == want })
	return value(t.at("c"))
}

// pairSums are sums of two paths.
func pairSums() (list []Check) {
	needs := []Facility{Aggregates}
	add := func(name, text, want string, a, b [][]byte, then ...func(t *trial)) {
		list = append(list, sumCheck("sum-"+name, "two paths: "+text, want, needs, func(t *trial) {
			t.tell("a", a...)
			t.tell("b", b...)
			t.settle("a", "b")
			for _, f := range then {
				f(t)
			}
		}))
	}
	one := func(v float32) [][]byte { return [][]byte{transitive(v)} }
	add("of-two", "1 and 4 Gb/s", "5000M", one(speed), one(4*speed))
	add("terabits", "25.6 and 12.8 Tb/s, 32 and 16 members of 800G", "38.4T", one(3.2e12), one(1.6e12))
	add("after-withdrawal", "1 and 4 Gb/s, and the larger one is withdrawn", "1000M", one(speed), one(4*speed), func(t *trial) {
		t.withdraw("b")
		t.settle("a", "b")
	})
	add("one-missing", "one has no value, so that there is no sum to tell", "none", one(speed), nil)
	add("takes-lowest", "4 and 1 Gb/s on one, 1 Gb/s on the other", "2000M", [][]byte{transitive(4 * speed), transitive(speed)}, one(speed))
	add("non-transitive", "1 and 4 Gb/s, non-transitive: processed all the same", "5000M", [][]byte{nonTransitive(speed)}, [][]byte{nonTransitive(4 * speed)})
	return append(list, Check{
		Name: "sum-administrator", Sent: "two paths: 1 and 4 Gb/s; whose ASN the sum carries", Refs: []string{"RFC 10005 3", "RFC 6793 9"}, Accept: []string{"the device's"}, Needs: needs,
		ask: func(t *trial) string {
			t.tell("a", transitive(speed))
			t.tell("b", transitive(4*speed))
			t.settle("a", "b")
			r := t.at("c")
			if r == nil || len(r.values()) == 0 {
				return wordNone
			}
			for _, c := range r.values() {
				if want := linkbw.GlobalAdministrator(t.bench.device.ASN); c.ASN != want {
					t.detail = fmt.Sprintf("heard AS%d: want %d", c.ASN, want)
					return "another"
				}
			}
			return "the device's"
		},
	})
}

// manySums are those of RT-7.6.
func manySums() []Check {
	connect := func(t *trial) []string {
		names := manyNames()
		t.failIf(t.bench.connect(t.ctx, names))
		return names
	}
	offerAll := func(t *trial, names []string) {
		for i, v := range rt76() {
			t.tell(names[i], transitive(v))
		}
		t.settle(names[0], names[len(names)-1])
	}
	withdrawHalf := func(t *trial, names []string) {
		for _, name := range names[:32] {
			t.withdraw(name)
		}
		t.settle(names[0], names[len(names)-1])
	}
	needs := []Facility{Aggregates, Many}
	return []Check{
		sumCheck("sum-of-64", "64 peers: 32 x 10M, 16 x 20M, 8 x 40M, 8 x 80M", "1600M", needs, func(t *trial) { offerAll(t, connect(t)) }),
		sumCheck("sum-without-32", "the same, without the 32 x 10M", "1280M", needs, func(t *trial) {
			names := connect(t)
			offerAll(t, names)
			withdrawHalf(t, names)
		}),
		sumCheck("sum-with-32-again", "the same, and the 32 x 10M again", "1600M", needs, func(t *trial) {
			names := connect(t)
			offerAll(t, names)
			withdrawHalf(t, names)
			t.told("1280M")
			offerAll(t, names)
		}),
	}
}

// weightChecks ask what the device does with traffic.
func weightChecks() (list []Check) {
	add := func(name, text string, refs []string, accept string, a, b [][]byte) {
		list = append(list, Check{
			Name: "weights-" + name, Sent: "two paths: " + text, Refs: refs, Accept: []string{accept}, Needs: []Facility{Weighs},
			ask: func(t *trial) string {
				t.tell("a", a...)
				t.tell("b", b...)
				t.settle("a", "b")
				return t.shares(accept)
			},
		})
	}
	one := func(v float32) [][]byte { return [][]byte{transitive(v)} }
	add("two-to-one", "10 and 5 KB/s", []string{"RT-1.52"}, "2:1", one(10e3), one(5e3))
	add("equal", "equal values", []string{"RT-1.52"}, "1:1", one(speed), one(speed))
	add("one-missing", "one has no value", []string{"RT-1.52", "RFC 10005 4"}, "1:1", one(10e3), nil)
	add("one-to-four", "1 and 4 Gb/s", []string{"RFC 10005 3.2"}, "1:4", one(speed), one(4*speed))
	add("31-to-one", "31 and 1 Gb/s", []string{"TE-3.2"}, "31:1", one(31*speed), one(speed))
	add("63-to-one", "63 and 1 Gb/s", []string{"TE-3.2"}, "63:1", one(63*speed), one(speed))
	add("non-transitive", "1 and 4 Gb/s, non-transitive", []string{"RFC 10005 3.2"}, "1:4", [][]byte{nonTransitive(speed)}, [][]byte{nonTransitive(4 * speed)})
	add("mixed-forms", "a transitive 1 and a non-transitive 4 Gb/s", []string{"RFC 10005 3.2"}, "1:4", one(speed), [][]byte{nonTransitive(4 * speed)})
	add("lowest", "4 and 1 Gb/s on one, 1 Gb/s on the other", []string{"RFC 10005 4"}, "1:1", [][]byte{transitive(4 * speed), transitive(speed)}, one(speed))
	add("lowest-any-form", "a transitive 4 and a non-transitive 1 Gb/s on one, 1 Gb/s on the other", []string{"RFC 10005 4"}, "1:1", [][]byte{transitive(4 * speed), nonTransitive(speed)}, one(speed))
	add("negative", "one value is negative, so that path has none", []string{"RFC 10005 4"}, "1:1", one(-speed), one(4*speed))
	add("nan", "one value is NaN, taken as none (our choice)", []string{"RFC 10005 3"}, "1:1", [][]byte{bits(0x7fc00000)}, one(4*speed))
	add("terabits", "25.6 and 12.8 Tb/s", []string{"RFC 10005 3"}, "2:1", one(3.2e12), one(1.6e12))
	return append(list, Check{
		Name: "weights-follow", Sent: "two paths of 1 and 4 Gb/s, and the first becomes 4 Gb/s", Refs: []string{"RFC 10005 3.1", "RT-7.51"}, Accept: []string{"1:1"}, Needs: []Facility{Weighs},
		ask: func(t *trial) string {
			t.tell("a", one(speed)...)
			t.tell("b", one(4*speed)...)
			t.settle("a", "b")
			t.shares("1:4")
			t.tell("a", one(4*speed)...)
			t.settle("a")
			return t.shares("1:1")
		},
	}, Check{
		Name: "weights-zero", Sent: "two paths of 1 Gb/s and 0: the zero gets nothing, or both the same (local policy)", Refs: []string{"RFC 10005 3.2"}, Accept: []string{"1:0", "1:1"}, Needs: []Facility{Weighs},
		ask: func(t *trial) string {
			t.tell("a", one(speed)...)
			t.tell("b", one(0)...)
			t.settle("a", "b")
			return t.shares("1:0", "1:1")
		},
	})
}

// wholeSetChecks ask for the weights of more paths than two.
func wholeSetChecks() []Check {
	eight := append(slices.Repeat([]float32{10 * speed}, 7), 7.5*speed)
	check := func(name, text string, refs []string, values []float32) Check {
		return Check{Name: "weights-of-" + name, Sent: text, Refs: refs, Accept: []string{wordProportion}, Needs: []Facility{Weighs, Many}, ask: func(t *trial) string {
			names := manyNames()[:len(values)]
			t.failIf(t.bench.connect(t.ctx, names))
			for i, v := range values {
				t.tell(names[i], transitive(v))
			}
			t.settle(names[0], names[len(names)-1])
			return t.proportion(names, values)
		}}
	}
	return []Check{
		check("eight", "eight paths, seven of 10 Gb/s and one of 7.5 Gb/s: a bundle of eight that lost a quarter of one", []string{"RFC 10005 3.2"}, eight),
		check("64", "64 paths: 32 x 10M, 16 x 20M, 8 x 40M, 8 x 80M", []string{"RT-7.6", "TE-3.2"}, rt76()),
	}
}

// wordProportion is a set of weights as the device's own algorithm gives them, or
// each within RT-1.52's 5 % of its share.
const wordProportion = "in proportion"

// proportion holds the weights of a set of peers against their values.
func (t *trial) proportion(names []string, values []float32) string {
	var shares []uint64
	var sum uint64
	for _, v := range values {
		shares = append(shares, linkbw.ToBits(v))
		sum += shares[len(shares)-1]
	}
	want, exact := t.algorithm(shares)
	return t.weigh(func(weights map[string]int) string {
		total := 0
		for _, name := range names {
			total += weights[name]
		}
		for i, name := range names {
			w := weights[name]
			off := math.Abs(float64(w)/float64(total) - float64(shares[i])/float64(sum))
			if exact && w*want[0] != want[i]*weights[names[0]] || !exact && !(off <= tolerance*float64(shares[i])/float64(sum)) {
				return outOfProportion(weights, names)
			}
		}
		return wordProportion
	}, wordProportion)
}

func outOfProportion(weights map[string]int, names []string) string {
	for _, name := range names {
		if weights[name] != weights[names[0]] {
			return "out of proportion"
		}
	}
	return "all alike"
}

// algorithm is what the device's own algorithm makes of shares; not exact where
// it is unknown.
func (t *trial) algorithm(shares []uint64) (weights []int, exact bool) {
	if t.bench.device.Algorithm == "" {
		return nil, false
	}
	r, err := fib.Reduce(t.bench.device.Algorithm, shares, fib.MaxWidth)
	t.failIf(err)
	return r.Weights, err == nil
}

// shares is the wanted ratio of a's and b's weights where they match it, else
// the weights as they are.
func (t *trial) shares(want ...string) string {
	return t.weigh(func(weights map[string]int) string { return t.ratio(weights, want) }, want...)
}

// weigh asks for the weights until their word is a wanted one, and gives the
// last word. Hardware may lag behind the answers of the sessions.
func (t *trial) weigh(judge func(map[string]int) string, want ...string) (word string) {
	poll := time.NewTicker(retry)
	defer poll.Stop()
	budget := time.NewTimer(min(t.bench.opts.Budget, weightBudget))
	defer budget.Stop()
	for t.err == nil {
		weights, err := t.bench.device.Weights(t.ctx, t.prefix)
		if err != nil {
			t.fail(err)
			break
		}
		word, t.detail = judge(weights), "weights "+weightText(weights)
		if slices.Contains(want, word) {
			break
		}
		select {
		case <-poll.C:
			continue
		case <-t.ctx.Done():
			t.fail(t.ctx.Err())
		case <-budget.C:
		}
		break
	}
	return word
}

// weightBudget is how long hardware may lag behind what neighbours were told.
const weightBudget = 2 * time.Second

func weightText(weights map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(weights)) {
		words = append(words, fmt.Sprintf("%s %d", name, weights[name]))
	}
	return strings.Join(words, ", ")
}

// tolerance is RT-1.52's: 5 % of the traffic.
const tolerance = 0.05

func (t *trial) ratio(weights map[string]int, want []string) string {
	a, b := weights["a"], weights["b"]
	for _, w := range want {
		var x, y int
		if _, err := fmt.Sscanf(w, "%d:%d", &x, &y); err != nil || a+b == 0 {
			continue
		}
		if x > 0 && y > 0 { // where one gets nothing no algorithm has a say
			if made, exact := t.algorithm([]uint64{uint64(x) * 1e9, uint64(y) * 1e9}); exact {
				if a*made[1] == b*made[0] { // reduced weights stand for all multiples
					return w
				}
				continue
			}
		}
		if math.Abs(float64(a)/float64(a+b)-float64(x)/float64(x+y)) <= tolerance {
			return w
		}
	}
	return fmt.Sprintf("%d:%d", a, b)
}

// dampChecks change the capacity of the device's own link.
func dampChecks() []Check {
	const whole, half = 400e9, 200e9
	word := func(t *trial) string { return value(t.at("o")) }
	ask := func(t *trial, then func()) string {
		set := func(capacity uint64) {
			if t.err == nil {
				t.failIf(t.bench.device.Bundle(t.ctx, "a", capacity))
			}
			t.settle("a")
		}
		defer t.restore()
		set(whole)
		t.tell("a", transitive(4e12/8)) // far above the link
		t.settle("a")
		if t.err == nil && word(t) != "400000M" {
			return word(t)
		}
		set(half)
		if then == nil {
			return word(t)
		}
		set(whole)
		then()
		return word(t)
	}
	check := func(name, text, want string, f func(t *trial) string) Check {
		return Check{Name: name, Sent: text, Refs: []string{"RT-7.51", "RFC 10005 7.2"}, Accept: []string{want}, Needs: []Facility{HoldsDown}, ask: f}
	}
	return []Check{
		check("decrease-at-once", "the link to a falls from 400G to 200G", "200000M", func(t *trial) string { return ask(t, nil) }),
		check("increase-held", "the link falls to 200G and comes back: told low until the hold-down is over", "200000M", func(t *trial) string {
			return ask(t, func() { t.pass(t.bench.device.HoldDown - time.Second) })
		}),
		check("increase-after-holddown", "the link falls to 200G and comes back, and the hold-down is over", "400000M", func(t *trial) string {
			return ask(t, func() { t.pass(t.bench.device.HoldDown + time.Second) })
		}),
	}
}

// failIf is fail for an error that may be none.
func (t *trial) failIf(err error) {
	if err != nil {
		t.fail(err)
	}
}

func (t *trial) pass(d time.Duration) {
	if t.err == nil {
		t.failIf(t.bench.device.Pass(t.ctx, d))
	}
	t.settle("a")
}

// restore makes the device's link whole for the next check.
func (t *trial) restore() {
	ctx := context.WithoutCancel(t.ctx)
	t.failIf(t.bench.device.Bundle(ctx, "a", t.bench.device.Capacity))
	t.failIf(t.bench.device.Pass(ctx, 2*t.bench.device.HoldDown))
}
