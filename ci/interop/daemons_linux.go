package main

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"strings"

	"github.com/bagrig/bagrig/fib"
	"github.com/bagrig/bagrig/properties/conform"
)

// daemon is a routing daemon of the distribution.
type daemon struct {
	name    string
	pkg     string   // the package that has it
	needs   []string // its binaries
	version []string // prints the version
	asn     uint32
	files   func(dir string, s *conform.Setup) (map[string]string, error) // in dir, by name
	// commands stay in the foreground; one that makes a socket named in
	// waits is waited for before the next is started.
	commands func(dir string) []command
	device   func(version string) conform.Device // what is particular
	passive  bool                                // the daemon dials
	// rested is the command that ends the pause, which doubles each time, that
	// the daemon makes when a session has fallen; nil: it is waited for.
	rested func(dir string, peer netip.Addr) []string
}

type command struct {
	args  []string
	env   []string
	waits string // path that must be there before the next command
}

// The address plan of every cell: they do not see each other.
var (
	dutAddr   = netip.MustParseAddr("10.89.0.1")
	dutAddr2  = netip.MustParseAddr("10.89.1.1")
	firstEar  = netip.MustParseAddr("10.89.1.10")
	firstPeer = netip.MustParseAddr("10.89.0.10")
	dutAddr6  = netip.MustParseAddr("fd00:89::1")
	firstHop6 = netip.MustParseAddr("fd00:89::10")
)

// frrUser is the user that FRR insists on.
const frrUser = "frr"

var daemons = []daemon{
	{
		name: "frr", pkg: "frr", needs: []string{"/usr/lib/frr/zebra", "/usr/lib/frr/bgpd"}, version: []string{"/usr/lib/frr/bgpd", "--version"}, asn: 65010,
		files: func(_ string, s *conform.Setup) (map[string]string, error) {
			text, err := s.Configuration("frr")
			return map[string]string{"bgpd.conf": text, "zebra.conf": "hostname dut\n"}, err
		},
		commands: func(dir string) []command {
			common := func(name string) []string {
				return []string{"/usr/lib/frr/" + name, "-u", frrUser, "-g", frrUser, "-f", dir + "/" + name + ".conf", "-i", dir + "/" + name + ".pid",
					"-z", dir + "/zserv.api", "--vty_socket", dir, "-A", "127.0.0.1", "-P", "0", "--log", "stdout", "--log-level", "warnings"}
			}
			return []command{{args: common("zebra"), waits: dir + "/zserv.api"}, {args: common("bgpd")}}
		},
		device: func(version string) conform.Device {
			d := conform.Device{Algorithm: fib.FRR10}
			if strings.HasPrefix(version, "8.") || strings.HasPrefix(version, "9.") {
				d.Algorithm = fib.FRR8
			}
			return d
		},
	},
	{
		name: "bird", pkg: "bird2", needs: []string{"/usr/sbin/bird"}, version: []string{"/usr/sbin/bird", "--version"}, asn: 65010,
		files: func(_ string, s *conform.Setup) (map[string]string, error) {
			text, err := s.Configuration("bird")
			return map[string]string{"bird.conf": "log stderr all;\n" + text}, err
		},
		commands: func(dir string) []command {
			return []command{{args: []string{"/usr/sbin/bird", "-f", "-c", dir + "/bird.conf", "-s", dir + "/bird.ctl", "-P", dir + "/bird.pid"}}}
		},
		device: func(string) conform.Device {
			return conform.Device{Lacks: map[conform.Facility]string{conform.Aggregates: "has no sum of link bandwidth"}}
		},
	},
	{
		name: "openbgpd", pkg: "openbgpd", needs: []string{"/usr/sbin/bgpd", "/usr/sbin/bgpctl"}, version: []string{"/usr/sbin/bgpd", "-V"}, asn: 65010,
		files: func(dir string, s *conform.Setup) (map[string]string, error) {
			s.Ctl = dir + "/ctl"
			text, err := s.Configuration("openbgpd")
			return map[string]string{"bgpd.conf": text}, err
		},
		commands: func(dir string) []command {
			return []command{{args: []string{"/usr/sbin/bgpd", "-d", "-v", "-f", dir + "/bgpd.conf"}}}
		},
		rested: func(dir string, peer netip.Addr) []string {
			return []string{"/usr/sbin/bgpctl", "-s", dir + "/ctl", "neighbor", peer.String(), "clear"}
		},
		device: func(string) conform.Device {
			return conform.Device{Lacks: map[conform.Facility]string{
				conform.Aggregates: "has no sum of link bandwidth", conform.Originates: "no word for a community of its own in a network statement",
				conform.Weighs: "its FIB is left alone",
			}}
		},
	},
	{
		name: "exabgp", pkg: "exabgp", needs: []string{"/usr/sbin/exabgp"}, version: []string{"/usr/sbin/exabgp", "--version"}, asn: 65010, passive: true,
		files: func(_ string, s *conform.Setup) (map[string]string, error) {
			text, err := s.Configuration("exabgp")
			return map[string]string{"exa.conf": text}, err
		},
		commands: func(dir string) []command {
			return []command{{args: []string{"/usr/sbin/exabgp", dir + "/exa.conf"}, env: []string{
				"exabgp.api.cli=false", "exabgp.daemon.user=root", "exabgp.log.destination=stdout", "exabgp.log.level=WARNING",
			}}}
		},
		device: func(string) conform.Device {
			return conform.Device{Lacks: map[conform.Facility]string{conform.Forwards: "", conform.Internal: "", conform.Many: "", conform.Aggregates: "", conform.IPv6: ""}}
		},
	},
}

// missing says why a daemon cannot be run here; empty where it can.
func (d daemon) missing() string {
	if os.Geteuid() != 0 {
		return "namespaces need root"
	}
	for _, path := range d.needs {
		if _, err := os.Stat(path); err != nil {
			return fmt.Sprintf("%s is missing: apt-get install -y %s", path, d.pkg)
		}
	}
	return ""
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

func (d daemon) readVersion() (string, error) {
	out, err := exec.Command(d.version[0], d.version[1:]...).CombinedOutput()
	first, _, _ := strings.Cut(string(out), "\n")
	if version := versionNumber.FindString(first); version != "" {
		return version, nil // some end with a status for it
	}
	return "", fmt.Errorf("%s: no version in %q: %w", strings.Join(d.version, " "), first, err)
}
