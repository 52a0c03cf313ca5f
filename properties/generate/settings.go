package generate

import (
	"slices"

	"github.com/bagrig/bagrig/harness"
	"github.com/bagrig/bagrig/topologies"
)

// words are what is drawn of each knob, its default first.
func words(k topologies.Knob) []string {
	switch k.Name {
	case "advertise.value":
		return nil // comes with `advertise: set`
	case "rib-batch":
		return []string{"200ms", "1s"} // matters only where messages take time
	case "restart.stale-time":
		return []string{"30s", "2s"}
	case "restart.eor-time":
		return []string{"30s", "2s"}
	case "drain.linger":
		return []string{"1s", "10s"}
	case "import.max-prefixes":
		return []string{"0", "100000"} // see Limitations
	case "import.reject-classes":
		return []string{"", "spine", "region", "rack"}
	case "import.reject-communities":
		return []string{"", "65535:0", "65000:1"}
	}
	return k.Values
}

// settings draws knobs: half of the cases have the defaults everywhere, others one
// knob that is the same everywhere, some knobs of roles, or some of every device.
func settings(src Source, sc *harness.Scenario, l Limits) []topologies.Settings {
	list := slices.Repeat([]topologies.Settings{topologies.DefaultSettings()}, len(sc.Topology.Devices))
	if l.Plain {
		return list
	}
	switch src.IntN(6) {
	default:
	case 3:
		turn := knob(src)
		for i := range list {
			turn(&list[i])
		}
	case 4:
		for range between(src, 1, 3) {
			turn, role := knob(src), sc.Topology.Devices[src.IntN(len(list))].Role
			for i, d := range sc.Topology.Devices {
				if d.Role == role {
					turn(&list[i])
				}
			}
		}
	case 5:
		for i := range list {
			for range src.IntN(4) {
				knob(src)(&list[i])
			}
		}
	}
	for i := range list {
		consistent(&list[i])
	}
	return list
}

// knob draws what turns one knob.
func knob(src Source) func(*topologies.Settings) {
	var knobs []topologies.Knob
	for _, k := range topologies.Knobs() {
		if words(k) != nil {
			knobs = append(knobs, k)
		}
	}
	k := pick(src, knobs...)
	value := pick(src, words(k)...)
	return func(s *topologies.Settings) {
		if err := s.Set(k.Name, value); err != nil {
			panic(err) // a word that its own knob refuses
		}
	}
}

// consistent mends what contradicts itself.
func consistent(s *topologies.Settings) {
	s.AdvertiseValue = 0
	switch s.Advertise {
	case topologies.AdvertiseSet:
		s.AdvertiseValue = 16e12
	case topologies.AdvertiseDisable:
		s.Divide = topologies.DivideNone
	}
}
