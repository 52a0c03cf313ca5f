package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"

	"github.com/bagrig/bagrig/properties/conform"
)

// cellVariable tells a process of this program which daemon's cell it is.
const cellVariable = "BAGRIG_INTEROP_CELL"

// runCell runs a daemon's cell: in this process's image, in namespaces of its
// own. It ends with this process, of which it holds a pipe.
func runCell(ctx context.Context, d daemon) (*conform.Report, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	alive, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ours.Close()
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), cellVariable+"="+d.name)
	cmd.Stdin = alive
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID,
		Setpgid:    true, // Ctrl-C is for this process, which then ends the cells
	}
	err = cmd.Start()
	_ = alive.Close()
	if err != nil {
		return nil, fmt.Errorf("%s: new namespaces: %w", d.name, err)
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", d.name, ctx.Err())
		}
		return nil, fmt.Errorf("%s: %s%w", d.name, stderr.String(), err)
	}
	r := &conform.Report{}
	if err := json.Unmarshal(stdout.Bytes(), r); err != nil {
		return nil, fmt.Errorf("%s: its cell's answer: %w", d.name, err)
	}
	return r, nil
}

// cellMain is the process of a cell.
func cellMain(name string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { // nobody writes: it ends when the lane does
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	for _, d := range daemons {
		if d.name != name {
			continue
		}
		r, err := runDaemon(ctx, d)
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
		return 0
	}
	fmt.Fprintf(os.Stderr, "%s=%q: no such cell\n", cellVariable, name)
	return 2
}

// cellDir is a cell's own folder: /run is a mount that only the cell sees.
const cellDir = "/run/bagrig"

// conformRun is the folder, below, of the daemon that is asked the catalogue.
const conformRun = "conform"

// cell is the two network namespaces of a cell and the daemon in one of them.
type cell struct {
	daemon  daemon
	version string
	handle  *netlink.Handle // of the daemon's namespace
	do      chan func()     // for the thread that is in the daemon's namespace
	peers   []conform.Peer
	six     bool
	running []*process
}

func runDaemon(ctx context.Context, d daemon) (*conform.Report, error) {
	version, err := d.readVersion()
	if err != nil {
		return nil, err
	}
	c := &cell{daemon: d, version: version}
	if err := c.mounts(); err != nil {
		return nil, err
	}
	if err := c.link(); err != nil {
		return nil, err
	}
	setup := &conform.Setup{Addr: dutAddr, ASN: d.asn, Peers: c.peers, Dials: d.passive}
	if c.six {
		setup.Six, setup.Addr6 = true, dutAddr6
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	files, err := d.files(c.dir(conformRun), setup)
	if err != nil {
		return nil, err
	}
	if err := c.start(ctx, cancel, conformRun, files); err != nil {
		return nil, err
	}
	report, err := conform.Run(ctx, c.device(), conform.Options{
		Local: addresses(c.peers), Local6: c.first6(), Passive: d.passive, Patience: time.Minute,
	})
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	if err := c.stop(); err != nil {
		return nil, err
	}
	results, err := c.scenarios(ctx, cancel)
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	report.Results = append(report.Results, results...)
	return report, nil
}

// explain puts what ended the run in front: a daemon that died, or its last
// words.
func (c *cell) explain(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	for _, p := range c.running {
		err = fmt.Errorf("%w\n%s's last lines:\n%s", err, p.name, p.log.tail())
	}
	return err
}

func (c *cell) first6() netip.Addr {
	if c.six {
		return firstHop6
	}
	return netip.Addr{}
}

func addresses(peers []conform.Peer) (list []netip.Addr) {
	for _, p := range peers {
		list = append(list, p.Addr)
	}
	return list
}

// device is the daemon as the catalogue sees it.
func (c *cell) device() conform.Device {
	d := c.daemon.device(c.version)
	d.Name, d.Version, d.ASN, d.Addr = c.daemon.name, c.version, c.daemon.asn, netip.AddrPortFrom(dutAddr, 179)
	if d.Lacks == nil {
		d.Lacks = map[conform.Facility]string{}
	}
	if !c.six {
		d.Lacks[conform.IPv6] = "IPv6 is off on this machine"
	}
	d.Weights = c.weights
	if c.daemon.rested != nil {
		d.Rested = func(ctx context.Context, peer string) error {
			i := slices.IndexFunc(c.peers, func(p conform.Peer) bool { return p.Name == peer })
			args := c.daemon.rested(c.dir(conformRun), c.peers[i].Addr)
			if out, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
			}
			return nil
		}
	}
	return d
}

// mounts gives the cell a /proc and a /run of its own.
func (c *cell) mounts() error {
	for _, m := range []struct {
		fstype, target string
		flags          uintptr
	}{{"none", "/", syscall.MS_REC | syscall.MS_PRIVATE}, {"proc", "/proc", 0}, {"tmpfs", "/run", 0}} {
		if err := syscall.Mount(m.fstype, m.target, m.fstype, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.fstype, m.target, err)
		}
	}
	return os.MkdirAll("/run/openbgpd", 0o755) // where its sockets are, whatever it is told
}

// link makes the daemon's network namespace and the veth pair to it.
func (c *cell) link() error {
	made := make(chan error)
	c.do = make(chan func())
	var dut netns.NsHandle
	go func() {
		// The thread stays in the daemon's namespace for good.
		runtime.LockOSThread()
		var err error
		dut, err = netns.New()
		made <- err
		for f := range c.do {
			f()
		}
	}()
	if err := <-made; err != nil {
		return fmt.Errorf("new network namespace: %w", err)
	}
	here, err := netlink.NewHandle()
	if err != nil {
		return err
	}
	if c.handle, err = netlink.NewHandleAt(dut); err != nil {
		return err
	}
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "tester"}, PeerName: "dut", PeerNamespace: netlink.NsFd(int(dut))}
	if err := here.LinkAdd(veth); err != nil {
		return fmt.Errorf("veth pair: %w", err)
	}
	c.six = true
	c.peers = conform.PeersOf(local(), firstHop6, c.daemon.asn)
	var own []netip.Prefix
	for _, p := range c.peers {
		own = append(own, netip.PrefixFrom(p.Addr, 24), netip.PrefixFrom(p.NextHop6, 64))
	}
	if err := c.raise(here, "tester", own...); err != nil {
		return err
	}
	return c.raise(c.handle, "dut", netip.PrefixFrom(dutAddr, 24), netip.PrefixFrom(dutAddr2, 24), netip.PrefixFrom(dutAddr6, 64))
}

// local are the peers' addresses: o and c on one network, all others on another,
// so that the device changes the next hop towards them.
func local() []netip.Addr {
	others := conform.Addresses(firstPeer, conform.Peers-2)
	return slices.Concat(others[:2], conform.Addresses(firstEar, 2), others[2:])
}

// raise gives a link its addresses and sets it and the loopback up.
func (c *cell) raise(h *netlink.Handle, name string, list ...netip.Prefix) error {
	for _, up := range []string{"lo", name} {
		link, err := h.LinkByName(up)
		if err != nil {
			return fmt.Errorf("link %s: %w", up, err)
		}
		if err := h.LinkSetUp(link); err != nil {
			return fmt.Errorf("link %s: %w", up, err)
		}
	}
	link, err := h.LinkByName(name)
	if err != nil {
		return fmt.Errorf("link %s: %w", name, err)
	}
	for _, p := range list {
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}}
		if p.Addr().Is6() {
			if !c.six {
				continue
			}
			addr.Flags = syscall.IFA_F_NODAD // nobody else is there, and it takes a second
		}
		if err := h.AddrAdd(link, addr); err != nil {
			if p.Addr().Is6() {
				c.six = false
				continue
			}
			return fmt.Errorf("link %s: address %v: %w", name, p, err)
		}
	}
	return nil
}

// dir is the folder of one start of the daemon.
func (c *cell) dir(run string) string { return filepath.Join(cellDir, run) }

// start writes the daemon's files and starts its commands. One that ends by
// itself cancels the run.
func (c *cell) start(ctx context.Context, cancel context.CancelCauseFunc, run string, files map[string]string) error {
	dir := c.dir(run)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := c.handOver(dir); err != nil {
		return err
	}
	for _, cmd := range c.daemon.commands(dir) {
		p := &process{name: filepath.Base(cmd.args[0]), cmd: exec.Command(cmd.args[0], cmd.args[1:]...), done: make(chan struct{})}
		p.cmd.Env = append(os.Environ(), cmd.env...)
		p.cmd.Dir = dir
		p.cmd.Stdout, p.cmd.Stderr = &p.log, &p.log
		started := make(chan error)
		c.do <- func() { started <- p.cmd.Start() }
		if err := <-started; err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		c.running = append(c.running, p)
		go p.wait(cancel)
		if cmd.waits == "" {
			continue
		}
		if err := p.waitFor(ctx, cmd.waits); err != nil {
			return err
		}
	}
	return nil
}

// handOver gives the folder to the user that FRR runs as.
func (c *cell) handOver(dir string) error {
	if c.daemon.name != "frr" {
		return nil
	}
	u, err := user.Lookup(frrUser)
	if err != nil {
		return fmt.Errorf("%w: does the package frr make this user?", err)
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return err
	}
	return filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, uid, gid)
	})
}

// stop ends the daemon and waits until it has.
func (c *cell) stop() error {
	for i := len(c.running) - 1; i >= 0; i-- {
		p := c.running[i]
		p.stopped.Store(true)
		if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		select {
		case <-p.done:
		case <-time.After(patience):
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	}
	c.running = nil
	return nil
}

// patience is how long a daemon may take to start or to end.
const patience = 10 * time.Second

// weights reads the daemon's kernel routes: the weight of each next hop, by the
// peer's name.
func (c *cell) weights(_ context.Context, prefix netip.Prefix) (map[string]int, error) {
	dst := &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), prefix.Addr().BitLen())}
	routes, err := c.handle.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Dst: dst}, netlink.RT_FILTER_DST)
	if err != nil {
		return nil, fmt.Errorf("kernel routes of %v: %w", prefix, err)
	}
	weights := map[string]int{}
	for _, r := range routes {
		hops := r.MultiPath
		if len(hops) == 0 && r.Gw != nil {
			hops = []*netlink.NexthopInfo{{Gw: r.Gw}}
		}
		for _, h := range hops {
			addr, _ := netip.AddrFromSlice(h.Gw)
			for _, p := range c.peers {
				if p.Addr == addr.Unmap() {
					weights[p.Name] = h.Hops + 1
				}
			}
		}
	}
	return weights, nil
}
