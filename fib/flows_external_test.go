package fib_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/bagrig/bagrig/fib"
)

// TestManyFlowsApproachTheWeights: with n flows a member of part p gets n*p,
// give or take a few times sqrt(n*p*(1-p)).
func TestManyFlowsApproachTheWeights(t *testing.T) {
	const flows = 200_000
	for seed := range uint64(8) {
		for _, slots := range []int{0, 1024} {
			group := members(4, 4, 4, 3)
			got, err := fib.Hashing{Seed: seed, Slots: slots}.Split(group, flows)
			if err != nil {
				t.Fatal(err)
			}
			if total(got) != flows {
				t.Errorf("got %v, want a sum of %d", got, flows)
			}
			for i, m := range group {
				p := float64(m.Weight) / 15
				// The slots are themselves off by up to one of 1024.
				room := 5*math.Sqrt(flows*p*(1-p)) + flows/1024.0
				if math.Abs(float64(got[i])-flows*p) > room {
					t.Errorf("seed %d slots %d member %d: got %d, want %.0f +- %.0f", seed, slots, i, got[i], flows*p, room)
				}
			}
		}
	}
}

func TestFewFlowsMissTheWeightsByFar(t *testing.T) {
	got, err := fib.Hashing{Seed: 1}.Split(members(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), 1000)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, n := range got {
		most = max(most, n)
	}
	if over := float64(most)/(1000.0/16) - 1; over < 0.1 || over > 1 {
		t.Errorf("1,000 flows on 16 members: got %v, worst %.2f over the mean, want 0.1 to 1", got, over)
	}
}

func TestOnlyTheFlowsOfTheMemberThatGoesMoveInAResilientTable(t *testing.T) {
	r := rand.New(rand.NewPCG(61, 62))
	for range 40 {
		var weights []int
		for range 2 + r.IntN(30) {
			weights = append(weights, 1+r.IntN(6))
		}
		group := members(weights...)
		gone := group[r.IntN(len(group))].ID
		h := fib.Hashing{Seed: r.Uint64(), Slots: 256}
		moved, must, err := h.Disruption(group, gone, 20_000)
		if err != nil || moved != must || must == 0 {
			t.Errorf("%v, %d goes: got %v moved, %v had to, %v", weights, gone, moved, must, err)
		}
		h.Slots = 0
		if all, must, err := h.Disruption(group, gone, 20_000); err != nil || all < must {
			t.Errorf("%v, %d goes: got %v moved, %v had to, %v", weights, gone, all, must, err)
		}
	}
	moved, must, err := fib.Hashing{}.Disruption(members(1, 1, 1, 1, 1, 1, 1, 1), 4, 100_000)
	// Of the flows on the others all but about 1 in 7 move too.
	if err != nil || moved < 0.8 || math.Abs(must-0.125) > 0.01 {
		t.Errorf("8 equal members, plain: got %v moved, %v had to, %v", moved, must, err)
	}
}

func TestFlowSimulationsAreTheSameForTheSameSeed(t *testing.T) {
	h := fib.Hashing{Seed: 7}
	a, _ := h.Split(members(3, 2, 1), 5000)
	b, _ := h.Split(members(3, 2, 1), 5000)
	c, _ := fib.Hashing{Seed: 8}.Split(members(3, 2, 1), 5000)
	if fmt.Sprint(a) != fmt.Sprint(b) || fmt.Sprint(a) == fmt.Sprint(c) {
		t.Errorf("got %v and %v with one seed, %v with another", a, b, c)
	}
}

func TestFlowSimulationsRefuseWithAnError(t *testing.T) {
	cases := []struct {
		hashing fib.Hashing
		members []fib.Weighted
		flows   int
		want    error
	}{
		{fib.Hashing{}, nil, 1, fib.ErrNoMembers},
		{fib.Hashing{}, []fib.Weighted{{ID: 1, Weight: 1}, {ID: 2}}, 1, fib.ErrNoMembers},
		{fib.Hashing{}, members(1, 1), 0, fib.ErrNoFlows},
		{fib.Hashing{Slots: 1}, members(1, 1), 1, fib.ErrWidth},
		{fib.Hashing{Slots: -1}, members(1, 1), 1, fib.ErrWidth},
		{fib.Hashing{Slots: fib.MaxWidth + 1}, members(1, 1), 1, fib.ErrWidth},
		{fib.Hashing{}, members(1, fib.MaxWidth), 1, fib.ErrWidth},
	}
	for _, c := range cases {
		if _, err := c.hashing.Split(c.members, c.flows); !errors.Is(err, c.want) {
			t.Errorf("%+v of %v: got error %v, want %v", c.hashing, c.members, err, c.want)
		}
		if _, _, err := c.hashing.Disruption(c.members, 1, c.flows); !errors.Is(err, c.want) {
			t.Errorf("disruption of %+v of %v: got error %v, want %v", c.hashing, c.members, err, c.want)
		}
	}
	for _, group := range [][]fib.Weighted{members(1), members(1, 1)} {
		gone := int32(len(group)*5 - 4) // 1 of one, 6 of two
		if _, _, err := (fib.Hashing{}).Disruption(group, gone, 10); !errors.Is(err, fib.ErrNoMembers) {
			t.Errorf("%d of %v goes: got error %v, want %v", gone, group, err, fib.ErrNoMembers)
		}
	}
}
