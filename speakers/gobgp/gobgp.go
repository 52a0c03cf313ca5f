// Package gobgp runs a speaker's core over a GoBGP v3 server. The server holds
// the sessions, the encoding, the Adj-RIBs and the export policies; the core
// decides. Routes reach the core as Adj-RIB-In events, and what the core tells
// enters the server through its API as a local path.
//
// What GoBGP v3.37 really does differs from what its settings suggest in many
// places; each such place is named where its cure stands, and has a test.
//
// Starting a server writes options that all servers of a process share, so
// servers must be started one after another and before any of them has a peer.
package gobgp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	api "github.com/osrg/gobgp/v3/api"
	"github.com/osrg/gobgp/v3/pkg/log"
	"github.com/osrg/gobgp/v3/pkg/server"

	"github.com/bagrig/bagrig/speakers"
)

// Peer is one session of a speaker.
type Peer struct {
	Bundle int32
	Local  netip.Addr
	Remote netip.Addr // neighbours are keyed by it, so it is unique in the speaker
	ASN    uint32
	Above  bool // the neighbour is of a higher or of the same tier
	// NextHop and NextHop6 are told in place of Local, to a neighbour that knows the
	// speaker by another address: of IPv4 and of IPv6 routes; zero = Local.
	NextHop, NextHop6 netip.Addr
}

// Events is told what a server did. Calls come from the server's watcher, one
// at a time and in order; they must not block.
type Events interface {
	// Took reports routes and withdrawals that are now queued for the core.
	Took(bundle int32, nlri int)
	// PeerState reports the state that a session's FSM entered.
	PeerState(bundle int32, state api.PeerState_SessionState)
	// Failed reports something that must not happen.
	Failed(err error)
}

// Options configures a Speaker.
type Options struct {
	Name     string
	RouterID netip.Addr
	Port     int // all speakers of a rig listen on the same port of different addresses
	Listen   []netip.Addr
	Core     *speakers.Core
	Config   speakers.Config
	Prefixes *Prefixes
	Peers    []Peer // ascending by bundle
	Events   Events
	Did      func(*speakers.Effect) // hears of every effect when it is carried out; may be nil
}

// Speaker is a core with its GoBGP server. Step, AddPeer, DeletePeer, Fence and
// Close are called from one goroutine at a time.
type Speaker struct {
	opts    Options
	server  *server.BgpServer
	hook    *stopHook
	served  chan struct{}
	unwatch context.CancelFunc

	byAddress map[string]int // index in opts.Peers
	decode    decoder        // used by the watcher only
	up        []bool         // by peer; used by the watcher only
	routerIDs []string       // by peer: the first one seen; used by the watcher only

	mu    sync.Mutex
	queue []speakers.Input

	closed  bool
	managed int              // management operations asked of the server
	known   int              // neighbours added and not deleted
	spare   []speakers.Input // the queue that the last step emptied
	effects []speakers.Effect
	told    []speakers.Told // by prefix
	ceased  []int32
	allTold bool
}

// Start starts the server, its policies and its watcher. It has no peers yet.
func Start(ctx context.Context, opts Options) (*Speaker, error) {
	s := &Speaker{
		opts: opts, hook: newStopHook(), served: make(chan struct{}),
		byAddress: make(map[string]int, len(opts.Peers)), up: make([]bool, len(opts.Peers)), routerIDs: make([]string, len(opts.Peers)),
		told: make([]speakers.Told, len(opts.Prefixes.list)),
	}
	for i, p := range opts.Peers {
		s.byAddress[p.Remote.String()] = i
	}
	s.decode = newDecoder(opts.Prefixes)
	s.server = server.NewBgpServer(server.LoggerOption(quietLogger{}), server.TimingHookOption(s.hook))
	go func() {
		defer close(s.served)
		s.server.Serve()
	}()
	if err := s.configure(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("speaker %q: start: %w", opts.Name, err), s.Close())
	}
	return s, nil
}

func (s *Speaker) configure(ctx context.Context) error {
	listen := make([]string, len(s.opts.Listen))
	for i, a := range s.opts.Listen {
		listen[i] = a.String()
	}
	err := s.manage(func() error {
		return s.server.StartBgp(ctx, &api.StartBgpRequest{Global: &api.Global{
			Asn: s.opts.Config.ASN, RouterId: s.opts.RouterID.String(), ListenPort: int32(s.opts.Port), ListenAddresses: listen,
		}})
	})
	if err != nil {
		return err
	}
	if err := s.addPolicies(ctx); err != nil {
		return err
	}
	watch, cancel := context.WithCancel(context.Background())
	s.unwatch = cancel
	// Both kinds in one call share one queue, so that they arrive in order.
	return s.manage(func() error {
		return s.server.WatchEvent(watch, &api.WatchEventRequest{
			Peer:  &api.WatchEventRequest_Peer{},
			Table: &api.WatchEventRequest_Table{Filters: []*api.WatchEventRequest_Table_Filter{{Type: api.WatchEventRequest_Table_Filter_ADJIN}}},
		}, s.onEvent)
	})
}

// manage counts a call that is one management operation of the server. Close
// needs the count to know when the watcher is gone.
func (s *Speaker) manage(call func() error) error {
	s.managed++
	return call()
}

// onEvent runs on the watcher's goroutine.
func (s *Speaker) onEvent(r *api.WatchEventResponse) {
	defer func() {
		if p := recover(); p != nil {
			s.opts.Events.Failed(fmt.Errorf("speaker %q: panic in the watcher: %v", s.opts.Name, p))
		}
	}()
	switch e := r.Event.(type) {
	case *api.WatchEventResponse_Table:
		s.onPaths(e.Table.Paths)
	case *api.WatchEventResponse_Peer:
		s.onPeer(e.Peer)
	}
}

func (s *Speaker) onPaths(paths []*api.Path) {
	if len(paths) == 0 {
		return
	}
	i, ok := s.byAddress[paths[0].NeighborIp]
	if !ok {
		s.opts.Events.Failed(fmt.Errorf("speaker %q: route from an unknown neighbour %q", s.opts.Name, paths[0].NeighborIp))
		return
	}
	bundle := s.opts.Peers[i].Bundle
	s.mu.Lock()
	for _, p := range paths {
		in, err := s.decode.input(p)
		if err != nil {
			s.mu.Unlock()
			s.opts.Events.Failed(fmt.Errorf("speaker %q: neighbour %s: %w", s.opts.Name, paths[0].NeighborIp, err))
			return
		}
		in.Bundle = bundle
		s.queue = append(s.queue, in)
	}
	s.mu.Unlock()
	s.opts.Events.Took(bundle, len(paths))
}

func (s *Speaker) onPeer(e *api.WatchEventResponse_PeerEvent) {
	if e.Type == api.WatchEventResponse_PeerEvent_INIT || e.Type == api.WatchEventResponse_PeerEvent_END_OF_INIT || e.Peer == nil {
		return
	}
	i, ok := s.byAddress[e.Peer.State.NeighborAddress]
	if !ok {
		return
	}
	bundle, state := s.opts.Peers[i].Bundle, e.Peer.State.SessionState
	if state == api.PeerState_ESTABLISHED {
		id := e.Peer.State.RouterId
		if was := s.routerIDs[i]; was != "" && was != id {
			s.opts.Events.Failed(fmt.Errorf("speaker %q: neighbour %s came back with router id %s: it was %s", s.opts.Name, e.Peer.State.NeighborAddress, id, was))
			return
		}
		s.routerIDs[i] = id
	}
	// ADJIN is silent when a session falls, so this is where the core hears
	// that the session's candidates are gone.
	switch up := state == api.PeerState_ESTABLISHED; {
	case up && !s.up[i]:
		s.Input(speakers.Input{Kind: speakers.SessionUp, Bundle: bundle})
		s.up[i] = true
	case !up && s.up[i]:
		s.Input(speakers.Input{Kind: speakers.SessionDown, Bundle: bundle})
		s.up[i] = false
	}
	s.opts.Events.PeerState(bundle, state)
}

// Input queues something that happened to the core, from any goroutine.
func (s *Speaker) Input(in speakers.Input) {
	s.mu.Lock()
	s.queue = append(s.queue, in)
	s.mu.Unlock()
}

// Frozen is the input that one round gives to a core.
type Frozen []speakers.Input

// Freeze takes the queued input. It must be stepped before the next Freeze.
func (s *Speaker) Freeze() Frozen {
	s.mu.Lock()
	defer s.mu.Unlock()
	frozen := s.queue
	s.queue = s.spare[:0]
	s.spare = frozen
	return frozen
}

// Step gives frozen input to the core and carries its effects out: those of
// hardware through program, with no hops where the prefix is to be removed,
// the told ones through the server. It reports whether anything was told.
func (s *Speaker) Step(ctx context.Context, now time.Duration, in Frozen, program func(prefix int32, hops []speakers.Hop) error) (told bool, err error) {
	s.effects, err = s.opts.Core.Step(now, in, s.effects[:0])
	clear(in)
	if err != nil {
		return false, fmt.Errorf("speaker %q: %w", s.opts.Name, err)
	}
	for i := range s.effects {
		e := &s.effects[i]
		switch e.Kind {
		case speakers.Program, speakers.Unprogram:
			err = program(e.Prefix, e.Hops)
		case speakers.Tell:
			told = true
			err = s.tell(ctx, e.Prefix, &e.Told)
		case speakers.Untell:
			told = true
			err = s.untell(ctx, e.Prefix)
		case speakers.Cease:
			s.ceased = append(s.ceased, e.Bundle)
		case speakers.AllTold:
			s.allTold, told = true, true
		}
		if err != nil {
			return told, fmt.Errorf("speaker %q: prefix %v: %w", s.opts.Name, s.opts.Prefixes.list[e.Prefix], err)
		}
		if s.opts.Did != nil {
			s.opts.Did(e)
		}
	}
	clear(s.effects)
	return told, nil
}

// TakeCeased returns the sessions that the core wants ended, and forgets them.
func (s *Speaker) TakeCeased() []int32 {
	list := s.ceased
	s.ceased = nil
	return list
}

// TakeAllTold tells whether the core, started again, has told all that it has
// since the last call.
func (s *Speaker) TakeAllTold() bool {
	told := s.allTold
	s.allTold = false
	return told
}

// Restart starts the speaker again with a core that knows nothing. Its sessions
// must be down, so that nobody hears that its routes go.
func (s *Speaker) Restart(ctx context.Context, core *speakers.Core) error {
	s.Freeze()
	s.opts.Core = core
	clear(s.told)
	// No family means all of them.
	if err := s.manage(func() error { return s.server.DeletePath(ctx, &api.DeletePathRequest{}) }); err != nil {
		return fmt.Errorf("speaker %q: restart: %w", s.opts.Name, err)
	}
	return nil
}

// AddPeer makes the session's neighbour known. It is passive: the wire dials.
// Hold time 0 would mean 90 s, so the longest there is stands for never.
func (s *Speaker) AddPeer(ctx context.Context, bundle int32) error {
	p, err := s.peer(bundle)
	if err != nil {
		return err
	}
	peer := &api.Peer{
		// AllowOwnAsn is a uint8, and 255 lets looped paths reach the core,
		// which drops them; GoBGP alone keeps the route that a looped
		// replacement should have replaced.
		Conf:         &api.PeerConf{NeighborAddress: p.Remote.String(), PeerAsn: p.ASN, AllowOwnAsn: 255},
		Transport:    &api.Transport{LocalAddress: p.Local.String(), RemotePort: uint32(s.opts.Port), PassiveMode: true},
		Timers:       &api.Timers{Config: &api.TimersConfig{HoldTime: math.MaxUint16, KeepaliveInterval: math.MaxUint16 / 3}},
		EbgpMultihop: &api.EbgpMultihop{Enabled: true, MultihopTtl: 64},
		AfiSafis:     s.opts.Prefixes.negotiated(),
	}
	err = s.manage(func() error { return s.server.AddPeer(ctx, &api.AddPeerRequest{Peer: peer}) })
	if err != nil {
		return fmt.Errorf("speaker %q: add peer %s: %w", s.opts.Name, p.Remote, err)
	}
	s.known++
	return nil
}

// DeletePeer forgets the session's neighbour. Adding it again skips the 5 s
// that a fallen session waits.
func (s *Speaker) DeletePeer(ctx context.Context, bundle int32) error {
	p, err := s.peer(bundle)
	if err != nil {
		return err
	}
	err = s.manage(func() error { return s.server.DeletePeer(ctx, &api.DeletePeerRequest{Address: p.Remote.String()}) })
	if err != nil {
		return fmt.Errorf("speaker %q: delete peer %s: %w", s.opts.Name, p.Remote, err)
	}
	s.known--
	return nil
}

func (s *Speaker) peer(bundle int32) (Peer, error) {
	for _, p := range s.opts.Peers {
		if p.Bundle == bundle {
			return p, nil
		}
	}
	return Peer{}, fmt.Errorf("speaker %q: bundle %d: no such session", s.opts.Name, bundle)
}

// Close stops the server and returns when its goroutine has ended. The watcher
// must be gone before StopBgp, which otherwise can wait for it for ever. StopBgp
// waits until deleted neighbours have gone too, but only if it finds one that is
// not deleted. Its own operation must have passed the hook before that is told to
// stop: else that operation ends the server and the last call waits for ever. A
// second Close does nothing.
func (s *Speaker) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	if s.unwatch != nil {
		s.unwatch()
		s.managed++ // the watcher's own farewell
		s.hook.waitManaged(s.managed)
	}
	var err error
	if s.unwatch != nil && s.known == 0 && len(s.opts.Peers) > 0 {
		err = s.AddPeer(context.Background(), s.opts.Peers[0].Bundle)
	}
	err = errors.Join(err, s.manage(func() error { return s.server.StopBgp(context.Background(), &api.StopBgpRequest{}) }))
	s.hook.waitManaged(s.managed)
	s.hook.stop()
	// One last call wakes Serve, which then ends in the hook.
	go func() { _, _ = s.server.GetBgp(context.Background(), &api.GetBgpRequest{}) }()
	<-s.served
	return err
}

// quietLogger keeps GoBGP from writing to standard error.
type quietLogger struct{}

func (quietLogger) Panic(string, log.Fields) {}
func (quietLogger) Fatal(string, log.Fields) {}
func (quietLogger) Error(string, log.Fields) {}
func (quietLogger) Warn(string, log.Fields)  {}
func (quietLogger) Info(string, log.Fields)  {}
func (quietLogger) Debug(string, log.Fields) {}
func (quietLogger) SetLevel(log.LogLevel)    {}

func (quietLogger) GetLevel() log.LogLevel { return log.WarnLevel }
