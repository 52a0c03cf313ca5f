package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bagrig/bagrig/properties/conform"
	"github.com/bagrig/bagrig/topologies/yamltree"
)

// bgpPort is the port of a device that names none.
const bgpPort = 179

// conformFlags are the flags of `bagrig conform`.
type conformFlags struct {
	duts, asns        []string
	local, listen     []string
	local6            string
	port              uint16
	passive           bool
	without, checks   []string
	deviations        string
	version           string
	out               string
	plan              string
	list              bool
	patience, budget  time.Duration
	devices           []conform.Device
	locals            [][]netip.Addr // by device
	first6            netip.Addr
	catalogue         []conform.Check
	known             conform.Deviations
	withoutFacilities map[conform.Facility]string
}

func conformCommand() *cobra.Command {
	var flags conformFlags
	cmd := &cobra.Command{
		Use:   "conform --dut [NAME=]ADDR[:PORT] --asn N",
		Short: "Judge any BGP device at an address by what it does with link bandwidth",
		Long: "Judge any BGP device at an address by what it does with link bandwidth (RFC 10005):\na catalogue of single checks, each with its RFC section or OpenConfig test plan, what\nwas sent, and what came back, octet by octet. The tester plays all neighbours itself;\nthe device needs them configured (--plan shows them, as a table or as a configuration).\n\n" +
			"Several devices, each with --dut and --asn, give a matrix. docs/interop.md tells the\nwhole way.\n\n" +
			"Exit status: 0 no unlisted difference, 1 there is one, 2 bad input, or a device that\ndoes not answer or has another ASN, 130 interrupted.",
		Example: "  bagrig conform --dut 10.0.0.1 --asn 65010 --local 10.0.0.10 --plan frr\n  bagrig conform --dut 10.0.0.1 --asn 65010 --local 10.0.0.10",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringArrayVar(&flags.duts, "dut", nil, "the device under test; once for each device")
	f.StringSliceVar(&flags.asns, "asn", nil, "its ASN; one for all devices, or one for each")
	f.StringSliceVar(&flags.local, "local", nil, "addresses of this machine that the tester dials from: all, or the first of consecutive\nones (default: those that follow the device's)")
	f.StringSliceVar(&flags.listen, "listen", nil, "the same, for a device that dials the tester")
	f.StringVar(&flags.local6, "local6", "", "first of consecutive IPv6 addresses: next hops of IPv6 routes")
	f.Uint16Var(&flags.port, "port", bgpPort, "port to listen on; with --listen")
	f.BoolVar(&flags.passive, "passive", false, "wait for the device to dial, at the addresses of --local")
	f.StringSliceVar(&flags.without, "without", nil, "what the device lacks: "+facilityNames())
	f.StringSliceVar(&flags.checks, "check", nil, "names of the checks to make (default all; --list shows them)")
	f.StringVar(&flags.deviations, "deviations", "", "YAML `file` of known differences, see docs/interop.md")
	f.StringVar(&flags.version, "device-version", "", "the device's version: for the report and the list of differences")
	f.StringVar(&flags.out, "out", "", "folder for conform.json and conform.xml, new or empty (default "+defaultOut+"/TIME-conform)")
	f.StringVar(&flags.plan, "plan", "", "print what to configure at the device, and end: "+strings.Join(conform.Makers(), ", "))
	f.BoolVar(&flags.list, "list", false, "print the catalogue, and end")
	f.DurationVar(&flags.patience, "patience", 15*time.Second, "how long a session may take to come up, and again after a fall")
	f.DurationVar(&flags.budget, "budget", 10*time.Second, "how long an answer that must come may take")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if flags.list {
			return listChecks(cmd.OutOrStdout())
		}
		if err := flags.read(); err != nil {
			return err
		}
		if flags.plan != "" {
			return flags.printPlans(cmd.OutOrStdout())
		}
		out, err := conformFolder(flags.out)
		if err != nil {
			return err
		}
		return flags.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), out)
	}
	return cmd
}

func facilityNames() string {
	var names []string
	for f := range conform.Facilities {
		if f != conform.Weighs && f != conform.HoldsDown { // of devices that have a Go API
			names = append(names, string(f))
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// read checks everything that can be checked before anything is dialled.
func (f *conformFlags) read() (err error) {
	if len(f.duts) == 0 {
		return errors.New("--dut is missing: want the address of the device under test")
	}
	if len(f.asns) != 1 && len(f.asns) != len(f.duts) {
		return fmt.Errorf("--asn: %d given: want one, or one for each of %d devices", len(f.asns), len(f.duts))
	}
	if f.patience <= 0 || f.budget <= 0 {
		return fmt.Errorf("--patience %v, --budget %v: want more than 0", f.patience, f.budget)
	}
	if err := f.readLacks(); err != nil {
		return err
	}
	if f.catalogue, err = conform.Select(f.checks); err != nil {
		return fmt.Errorf("--check: %w", err)
	}
	if err := f.readDeviations(); err != nil {
		return err
	}
	for i, text := range f.duts {
		if err := f.readDevice(text, f.asns[min(i, len(f.asns)-1)]); err != nil {
			return err
		}
	}
	return nil
}

func (f *conformFlags) readLacks() error {
	f.withoutFacilities = map[conform.Facility]string{}
	for _, name := range f.without {
		if !slices.Contains(strings.Split(facilityNames(), ", "), name) {
			return fmt.Errorf("--without %q: want some of %s", name, facilityNames())
		}
		f.withoutFacilities[conform.Facility(name)] = "--without " + name
	}
	return nil
}

func (f *conformFlags) readDeviations() error {
	if f.deviations == "" {
		return nil
	}
	data, err := yamltree.ReadFile(f.deviations)
	if err != nil {
		return fmt.Errorf("--deviations: %w", err)
	}
	f.known, err = conform.ReadDeviations(f.deviations, data)
	return err
}

func (f *conformFlags) readDevice(text, asnText string) error {
	name, address, named := strings.Cut(text, "=")
	if !named {
		name, address = "dut", text
		if len(f.duts) > 1 {
			name = text
		}
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		addr, err := netip.ParseAddr(address)
		if err != nil {
			return fmt.Errorf("--dut %q: want [NAME=]ADDRESS[:PORT], such as 10.0.0.1 or leaf=10.0.0.1:1179", text)
		}
		at = netip.AddrPortFrom(addr, bgpPort)
	}
	if !at.Addr().Is4() {
		return fmt.Errorf("--dut %q: want an IPv4 address: the sessions are of IPv4, and IPv6 routes travel over them", text)
	}
	asn, err := strconv.ParseUint(asnText, 10, 32)
	if err != nil || asn == 0 {
		return fmt.Errorf("--asn %q: want 1 to %d", asnText, uint32(1<<32-1))
	}
	for _, d := range f.devices {
		if d.Name == name {
			return fmt.Errorf("--dut %q: a device %q is there already: want NAME=ADDRESS with another name", text, name)
		}
	}
	lacks := map[conform.Facility]string{}
	for facility, why := range f.withoutFacilities {
		lacks[facility] = why
	}
	locals, err := f.addresses(at.Addr())
	if err != nil {
		return err
	}
	if !f.first6.IsValid() && lacks[conform.IPv6] == "" {
		lacks[conform.IPv6] = "no --local6"
	}
	f.devices = append(f.devices, conform.Device{Name: name, Version: f.version, Addr: at, ASN: uint32(asn), Lacks: lacks})
	f.locals = append(f.locals, locals)
	return nil
}

// addresses are the tester's addresses for a device.
func (f *conformFlags) addresses(device netip.Addr) ([]netip.Addr, error) {
	flag, list := "--local", f.local
	if len(f.listen) > 0 {
		if len(f.local) > 0 {
			return nil, errors.New("--local and --listen: want one of them")
		}
		flag, list, f.passive = "--listen", f.listen, true
	}
	if f.local6 != "" {
		var err error
		if f.first6, err = netip.ParseAddr(f.local6); err != nil || !f.first6.Is6() {
			return nil, fmt.Errorf("--local6 %q: want an IPv6 address", f.local6)
		}
	}
	if len(list) == 0 {
		return conform.Addresses(device.Next(), conform.Peers), nil
	}
	var addrs []netip.Addr
	for _, text := range list {
		addr, err := netip.ParseAddr(text)
		if err != nil || !addr.Is4() {
			return nil, fmt.Errorf("%s %q: want an IPv4 address of this machine", flag, text)
		}
		addrs = append(addrs, addr)
	}
	if len(addrs) == 1 {
		return conform.Addresses(addrs[0], conform.Peers), nil
	}
	return addrs, nil
}

func conformFolder(out string) (string, error) {
	if out == "" {
		out = filepath.Join(defaultOut, time.Now().Format("20060102-150405")+"-conform")
	}
	return emptyFolder(out)
}

func listChecks(w io.Writer) error {
	for _, c := range conform.Catalogue() {
		if _, err := fmt.Fprintf(w, "%s (%s)\n  sent: %s\n  conforms: %s\n", c.Name, strings.Join(c.Refs, ", "), c.Sent, strings.Join(c.Accept, " | ")); err != nil {
			return err
		}
	}
	return nil
}

func (f *conformFlags) printPlans(w io.Writer) error {
	for i, d := range f.devices {
		s := conform.Setup{Addr: d.Addr.Addr(), ASN: d.ASN, Peers: conform.PeersOf(f.locals[i], f.first6, d.ASN), Six: f.first6.IsValid(), Dials: f.passive}
		text, err := s.Configuration(f.plan)
		if err != nil {
			return fmt.Errorf("--plan: %w", err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}

// run asks one device after the other, and ends with the status of them all.
func (f *conformFlags) run(ctx context.Context, w, stderr io.Writer, out string) error {
	var reports []*conform.Report
	held := true
	for i, d := range f.devices {
		bar := newCountBar(stderr, len(f.catalogue), "checks")
		r, err := conform.Run(ctx, d, conform.Options{
			Local: f.locals[i], Local6: f.first6, Passive: f.passive, Port: f.port, Patience: f.patience, Budget: f.budget, Checks: f.catalogue,
			Progress: func(done, _ int) { bar.show(done) },
		})
		bar.close()
		if ctx.Err() != nil {
			return ended(exitInterrupted)
		}
		if err != nil {
			return err
		}
		f.known.Apply(r)
		held = held && r.Held()
		reports = append(reports, r)
		if _, err := io.WriteString(w, conform.Table(r)+"\n"); err != nil {
			return err
		}
	}
	if len(reports) > 1 {
		if _, err := io.WriteString(w, conform.Matrix(reports)+"\n"); err != nil {
			return err
		}
	}
	if err := conform.Write(out, reports); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if _, err := fmt.Fprintf(w, "folder  %s\n", out); err != nil {
		return err
	}
	if !held {
		return ended(exitViolated)
	}
	return nil
}
