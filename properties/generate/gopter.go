package generate

import (
	"math/rand/v2"

	"github.com/leanovate/gopter"
)

// Gen draws cases with gopter. It shrinks none of them: harness/shrink does, since
// what gopter leaves is no scenario that may be kept.
func Gen(limits Limits) gopter.Gen {
	return func(p *gopter.GenParameters) *gopter.GenResult {
		seed := p.NextUint64()
		return gopter.NewGenResult(Case(FromRand(rand.New(rand.NewPCG(seed, 0))), limits), gopter.NoShrinker)
	}
}
