package conform

import (
	"slices"
)

// ipv6Checks ask the main questions about IPv6 routes.
func ipv6Checks() (list []Check) {
	for _, form := range forms {
		accept := map[string][]string{"t": mayDoT, "nt": mayDoNT, "both": {wordOnlyT, wordStripped, wordRemade, wordRemadeNT, wordRemadeTwo}}[form.name]
		list = append(list, Check{
			Name: "ipv6-" + form.name, Sent: form.text + " on an IPv6 route, from eBGP to eBGP", Refs: []string{"RFC 10005 3.3.1", "RFC 4360 6", "RFC 4760 3"}, Accept: accept, Needs: []Facility{IPv6},
			ask: func(t *trial) string {
				t.tell("a", form.ext...)
				t.settle("a")
				t.await(func() bool { return t.bench.sessions["o"].table[t.prefix] != nil })
				return t.carried(t.at("o"), form.ext...)
			},
		})
	}
	there := func(t *trial) {
		t.tell("a", transitive(speed))
		t.settle("a")
		t.await(func() bool { return t.bench.sessions["o"].table[t.prefix] != nil })
	}
	return append(list,
		Check{Name: "ipv6-change", Sent: "the value of an IPv6 route changes: how often do neighbours hear of it", Refs: []string{"RFC 10005 3.1"}, Accept: []string{wordOnce}, Needs: []Facility{IPv6}, ask: func(t *trial) string {
			there(t)
			t.mark()
			t.tell("a", transitive(speed/2))
			t.settle("a")
			t.await(func() bool {
				return slices.ContainsFunc(t.bench.sessions["o"].heard[t.from["o"]:], func(h heard) bool { return len(h.announced) > 0 && h.announced[0].Prefix == t.prefix })
			})
			return t.heardTimes("o")
		}},
		Check{Name: "ipv6-withdrawal", Sent: "an IPv6 route is withdrawn", Refs: []string{"RFC 4760 4"}, Accept: []string{wordWithdrawn}, Needs: []Facility{IPv6}, ask: func(t *trial) string {
			there(t)
			t.withdraw("a")
			t.settle("a")
			t.await(func() bool { return t.bench.sessions["o"].table[t.prefix] == nil })
			return t.gone("o")
		}},
		Check{Name: "ipv6-malformed-length", Sent: "an IPv6 route with an attribute of 7 octets, over one that was well", Refs: []string{"RFC 7606 7.14"}, Accept: []string{wordWithdrawn}, Needs: []Facility{IPv6}, ask: func(t *trial) string {
			there(t)
			t.announce("a", offer{raw: attribute(flagOptional|flagTransitive, attrExtended, transitive(speed)[:7]), path: []uint32{farASN}})
			t.settle("a")
			changed := func() bool {
				r := t.bench.sessions["o"].table[t.prefix]
				return r == nil || slices.Contains(r.Path, farASN)
			}
			t.await(changed)
			r := t.at("o")
			switch {
			case r == nil:
				return wordWithdrawn
			case slices.Contains(r.Path, farASN):
				return wordDiscarded
			}
			return wordStale
		}},
	)
}

// again ends a session in order and brings it up again.
func (t *trial) again(name string) {
	if t.err != nil {
		return
	}
	t.bench.sessions[name].cease()
	if err := t.bench.connect(t.ctx, []string{name}); err != nil {
		t.fail(err)
	}
}

// sessionChecks end sessions and bring them up again.
func sessionChecks() []Check {
	return []Check{
		{Name: "session-loss", Sent: "the session that a route came from ends", Refs: []string{"RFC 4271 6.7"}, Accept: []string{wordWithdrawn}, ask: func(t *trial) string {
			t.tell("a", transitive(speed))
			t.settle("a")
			if t.err == nil && t.at("o") == nil {
				return wordNoRoute
			}
			t.bench.sessions["a"].cease()
			t.awaitAt([]string{"o"}, func() bool { return t.bench.sessions["o"].table[t.prefix] == nil })
			return t.gone("o")
		}},
		{Name: "sender-returns", Sent: "the session that a route came from ends and returns, with another value", Refs: []string{"RFC 4271 6.7", "RFC 10005 3.3.1"}, Accept: anyForm, ask: func(t *trial) string {
			t.tell("a", transitive(speed))
			t.settle("a")
			t.again("a")
			t.tell("a", transitive(speed/2))
			t.settle("a")
			return t.carried(t.at("o"), transitive(speed/2))
		}},
		{Name: "observer-returns", Sent: "the neighbour's session ends and returns: the value is told again as it was", Refs: []string{"RFC 4271 9.2", "RFC 10005 3.3.1"}, Accept: anyForm, ask: func(t *trial) string {
			t.tell("a", transitive(speed))
			t.settle("a")
			was := t.at("o")
			t.again("o")
			t.settle("a")
			t.await(func() bool { return t.bench.sessions["o"].table[t.prefix] != nil })
			now := t.at("o")
			if was != nil && now != nil && string(was.Ext) != string(now.Ext) {
				t.detail = "before " + describeExt(was.Ext) + ", then " + describeExt(now.Ext)
				return wordAltered
			}
			return t.carried(now, transitive(speed))
		}},
		{Name: "end-of-rib", Sent: "a session comes up: End-of-RIB follows the table", Refs: []string{"RFC 4724 2"}, Accept: []string{"sent"}, ask: func(t *trial) string {
			t.again("o")
			s := t.bench.sessions["o"]
			if t.err == nil && !s.opened.restart {
				return t.none("offers no graceful restart")
			}
			t.settle("a")
			t.await(func() bool { return s.ends > 0 })
			t.bench.mu.Lock()
			defer t.bench.mu.Unlock()
			if s.ends == 0 {
				return "not sent"
			}
			return "sent"
		}},
		{Name: "route-refresh", Sent: "ROUTE-REFRESH: the route is told again with the same value", Refs: []string{"RFC 2918 4", "RFC 10005 3.3.1"}, Accept: anyForm, ask: func(t *trial) string {
			if !t.bench.sessions["o"].opened.refresh {
				return t.none("offers no route refresh")
			}
			t.tell("a", transitive(speed))
			t.settle("a")
			was := t.at("o")
			if t.err == nil && was == nil {
				return wordNoRoute
			}
			t.mark()
			t.send("o", "ROUTE-REFRESH of IPv4 unicast", message(typeRefresh, []byte{0, 1, 0, 1}))
			s := t.bench.sessions["o"]
			t.await(func() bool { return s.table[t.prefix] != was })
			now := t.at("o")
			if n, _ := t.times("o"); n == 0 {
				return wordSilent
			}
			if now != nil && string(was.Ext) != string(now.Ext) {
				t.detail = "before " + describeExt(was.Ext) + ", then " + describeExt(now.Ext)
				return wordAltered
			}
			return t.carried(now, transitive(speed))
		}},
	}
}
