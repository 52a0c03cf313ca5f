package oracle

// ToldBits is the value that the device tells of the prefix, both by their index
// in the topology: in bits/s, as exact as it is on the wire. It is 0 where the
// device tells no route, or one without a value.
func (s *State) ToldBits(device, prefix int) float64 {
	e := s.entry(device, prefix)
	if !e.present || !e.tells {
		return 0
	}
	return float64(e.value) * 8
}
