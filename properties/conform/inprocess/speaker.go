package inprocess

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	api "github.com/osrg/gobgp/v3/api"

	"github.com/bagrig/bagrig/damping"
	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/properties/conform"
	"github.com/bagrig/bagrig/speakers"
	"github.com/bagrig/bagrig/speakers/gobgp"
	"github.com/bagrig/bagrig/topologies"
)

// SpeakerASN is the ASN of bagrig's speaker: one of four octets, so that its
// communities carry AS_TRANS.
const SpeakerASN = 4200000100

// The links of bagrig's speaker: wide enough for every finite value that a
// fabric could have.
const (
	linkMembers = 4096
	linkSpeed   = 800e9
	holdDown    = 30 * time.Second // RT-7.51
)

// Speaker is bagrig's own speaker as a lone bag with one bundle to each peer of
// the tester, all of them edges, so that what it learns goes everywhere. It
// decides whenever something has come, in virtual time.
type Speaker struct {
	place   Place
	peers   []conform.Peer
	speaker *gobgp.Speaker
	numbers *gobgp.Prefixes
	core    *speakers.Core

	work chan func()   // for the loop
	wake chan struct{} // something came for the core
	stop context.CancelFunc
	done chan struct{}

	now  time.Duration            // the loop's
	hops map[int32][]speakers.Hop // the loop's: what hardware was given, by prefix

	mu    sync.Mutex
	up    map[int32]bool // by bundle
	wrong error          // the first thing that went wrong
}

// StartSpeaker starts the device. It must be closed.
func StartSpeaker(ctx context.Context) (_ *Speaker, err error) {
	place, err := takePlace()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, place.release())
		}
	}()
	s := &Speaker{
		place: place, peers: eBGP(place), wake: make(chan struct{}, 1), work: make(chan func()), done: make(chan struct{}),
		hops: map[int32][]speakers.Hop{}, up: map[int32]bool{},
	}
	prefixes := conform.Prefixes()
	topology := &topologies.Topology{Devices: []topologies.Device{{Name: "bagrig", Role: topologies.Bag, ASN: SpeakerASN}}}
	for _, p := range s.peers {
		topology.Devices = append(topology.Devices, topologies.Device{Name: p.Name, Role: topologies.Edge, ASN: p.ASN})
		topology.Bundles = append(topology.Bundles, topologies.Bundle{Name: p.Name + "--bagrig", A: p.Name, B: "bagrig", Members: linkMembers, Speed: linkSpeed})
	}
	for _, p := range prefixes {
		topology.Prefixes = append(topology.Prefixes, topologies.Prefix{Prefix: p})
	}
	settings := topologies.DefaultSettings()
	settings.Transitivity = topologies.BothTransitive // what other makers' devices need
	cfg := speakers.ConfigOf(topology, topology.Index(), 0, damping.Pipeline{Name: "hold-down alone", Bundle: []damping.BundleStage{damping.HoldDown{T: holdDown}}})
	cfg.Settings = &settings
	s.core, s.numbers = speakers.New(cfg), gobgp.NewPrefixes(prefixes)
	opts := gobgp.Options{
		Name: "bagrig", RouterID: place.Addr.Addr(), Listen: []netip.Addr{place.Addr.Addr()}, Port: int(place.Addr.Port()),
		Core: s.core, Config: cfg, Prefixes: s.numbers, Events: s,
	}
	for i, session := range cfg.Sessions {
		opts.Peers = append(opts.Peers, gobgp.Peer{Bundle: session.Bundle, Local: place.Addr.Addr(), Remote: s.peers[i].Addr, ASN: session.NeighborASN})
	}
	if s.speaker, err = gobgp.Start(ctx, opts); err != nil {
		return nil, err
	}
	for _, session := range cfg.Sessions {
		if err := s.speaker.AddPeer(ctx, session.Bundle); err != nil {
			return nil, errors.Join(err, s.speaker.Close())
		}
	}
	loop, stop := context.WithCancel(context.Background())
	s.stop = stop
	go s.run(loop)
	return s, nil
}

// eBGP are the tester's peers that have an ASN of their own, and none at the
// others' addresses.
func eBGP(place Place) []conform.Peer {
	return slices.DeleteFunc(conform.PeersOf(place.Peers, netip.Addr{}, 0), func(p conform.Peer) bool { return p.Internal })
}

// Peers are the addresses for conform.Options.Local.
func (s *Speaker) Peers() []netip.Addr { return s.place.Peers }

// Device is the speaker as the catalogue sees it.
func (s *Speaker) Device() conform.Device {
	return conform.Device{
		Name: "bagrig", Addr: s.place.Addr, ASN: SpeakerASN,
		Lacks:   map[conform.Facility]string{conform.Internal: "speaks eBGP only", conform.Originates: "no prefix of its own"},
		Weights: s.weights, Bundle: s.setCapacity, Pass: s.pass, HoldDown: holdDown, Capacity: linkMembers * linkSpeed,
	}
}

// run is the loop that owns the speaker.
func (s *Speaker) run(ctx context.Context) {
	defer close(s.done)
	for {
		select {
		case <-ctx.Done():
			return
		case f := <-s.work:
			f()
		case <-s.wake:
		}
		s.step(ctx)
	}
}

func (s *Speaker) step(ctx context.Context) {
	_, err := s.speaker.Step(ctx, s.now, s.speaker.Freeze(), func(p int32, hops []speakers.Hop) error {
		s.hops[p] = slices.Clone(hops)
		return nil
	})
	if err != nil {
		s.Failed(err)
	}
}

// do has the loop do something, and waits for it.
func (s *Speaker) do(ctx context.Context, f func()) error {
	finished := make(chan struct{})
	select {
	case s.work <- func() { f(); close(finished) }:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.done:
		return errors.New("the device is closed")
	}
	<-finished
	return s.trouble()
}

func (s *Speaker) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Took implements gobgp.Events.
func (s *Speaker) Took(int32, int) { s.nudge() }

// Failed implements gobgp.Events.
func (s *Speaker) Failed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wrong == nil {
		s.wrong = err
	}
}

func (s *Speaker) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrong
}

// PeerState implements gobgp.Events. A peer whose session fell is added anew,
// which skips the pause that GoBGP would make.
func (s *Speaker) PeerState(bundle int32, state api.PeerState_SessionState) {
	s.mu.Lock()
	was, is := s.up[bundle], state == api.PeerState_ESTABLISHED
	s.up[bundle] = is
	s.mu.Unlock()
	s.nudge()
	if !was || is {
		return
	}
	go func() { // this is the watcher's goroutine, and must not wait
		again := func() {
			ctx := context.Background()
			if err := errors.Join(s.speaker.DeletePeer(ctx, bundle), s.speaker.AddPeer(ctx, bundle)); err != nil {
				s.Failed(err)
			}
		}
		select {
		case s.work <- again:
		case <-s.done:
		}
	}()
}

func (s *Speaker) weights(ctx context.Context, prefix netip.Prefix) (map[string]int, error) {
	i, ok := s.numbers.Index(prefix)
	if !ok {
		return nil, fmt.Errorf("prefix %v: not one of the catalogue's", prefix)
	}
	var hops []speakers.Hop
	if err := s.do(ctx, func() { hops = s.hops[i] }); err != nil || len(hops) == 0 {
		return nil, err
	}
	var shares []uint64
	for _, h := range hops {
		shares = append(shares, h.Share)
	}
	profile, err := fib.Lookup("jericho3")
	if err != nil {
		return nil, err
	}
	r, err := profile.Reduce(fib.Minimax, shares)
	if err != nil {
		return nil, err
	}
	weights := map[string]int{}
	for i, h := range hops {
		weights[s.peers[h.Bundle].Name] = r.Weights[i]
	}
	return weights, nil
}

func (s *Speaker) setCapacity(ctx context.Context, peer string, capacity uint64) error {
	i := slices.IndexFunc(s.peers, func(p conform.Peer) bool { return p.Name == peer })
	if i < 0 {
		return fmt.Errorf("peer %q: not one of the tester's", peer)
	}
	return s.do(ctx, func() { s.speaker.Input(speakers.Input{Kind: speakers.Capacity, Bundle: int32(i), Capacity: capacity}) })
}

// pass lets virtual time pass, timer by timer.
func (s *Speaker) pass(ctx context.Context, d time.Duration) error {
	return s.do(ctx, func() {
		end := s.now + d
		s.step(ctx) // what has come belongs to now
		for next := s.core.Next(); next <= end && s.trouble() == nil; next = s.core.Next() {
			s.now = max(s.now, next)
			s.step(ctx)
		}
		s.now = end
	})
}

// fallen waits until no session is Established: what reads one would race with the
// server's end. Peers that stay are not waited for longer than a second.
func (s *Speaker) fallen() {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	late := time.After(time.Second)
	for {
		s.mu.Lock()
		up := slices.Contains(slices.Collect(maps.Values(s.up)), true)
		s.mu.Unlock()
		if !up {
			return
		}
		select {
		case <-poll.C:
		case <-late:
			return
		}
	}
}

// Close ends the device. The tester's sessions should have ended.
func (s *Speaker) Close() error {
	s.fallen()
	s.stop()
	<-s.done
	return errors.Join(s.trouble(), s.speaker.Close(), s.place.release())
}
