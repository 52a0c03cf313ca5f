package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bagrig/bagrig/properties/conform"
	"github.com/bagrig/bagrig/properties/conform/inprocess"
)

// gobgpDevice starts a plain GoBGP server to be judged.
func gobgpDevice(t *testing.T) *inprocess.GoBGP {
	t.Helper()
	g, err := inprocess.StartGoBGP(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func TestConformJudgesADevice(t *testing.T) {
	g := gobgpDevice(t)
	out := filepath.Join(t.TempDir(), "out")
	args := []string{
		"conform", "--dut", "gobgp=" + g.Device().Addr.String(), "--asn", "65010", "--local", g.Peers()[0].String(), "--device-version", "3.37.0",
		"--without", "aggregates,originates,many", "--check", "withdrawal,t-ebgp-to-ebgp,sum-of-two,ipv6-t", "--out", out,
	}
	got := bagrig(t, args...)
	if got.code != exitViolated {
		t.Errorf("exit status %d, want %d; %s", got.code, exitViolated, got.stderr)
	}
	wantAll(t, "stdout", got.stdout, "gobgp 3.37.0 at "+g.Device().Addr.String()+", ASN 65010", "fail t-ebgp-to-ebgp: got \"as NT\"", "0004fc6c4cee6b28", "4004fc6c4cee6b28",
		"4 checks: 1 pass, 1 fail, 0 listed deviations, 2 not applicable, 0 errors")
	data, err := os.ReadFile(filepath.Join(out, "conform.json"))
	if err != nil {
		t.Fatal(err)
	}
	if reports, err := conform.ReadJSON(data); err != nil || len(reports) != 1 || len(reports[0].Results) != 4 {
		t.Errorf("conform.json: got %d reports, %v", len(reports), err)
	}
	if _, err := os.Stat(filepath.Join(out, "conform.xml")); err != nil {
		t.Error(err)
	}
	// The same with the list of known differences.
	listed := append(args[:len(args)-1:len(args)-1], out+"-2", "--deviations", "../../ci/interop/deviations.yaml")
	if got := bagrig(t, listed...); got.code != exitHeld || !strings.Contains(got.stdout, "1 listed deviations") {
		t.Errorf("exit status %d, want %d\n%s%s", got.code, exitHeld, got.stdout, got.stderr)
	}
}

func TestConformOfSeveralDevicesGivesAMatrix(t *testing.T) {
	g := gobgpDevice(t)
	got := bagrig(t, "conform", "--dut", "one="+g.Device().Addr.String(), "--dut", "two="+g.Device().Addr.String(), "--asn", "65010", "--local", g.Peers()[0].String(),
		"--without", "aggregates,originates,many", "--check", "withdrawal", "--out", filepath.Join(t.TempDir(), "out"))
	if got.code != exitHeld {
		t.Errorf("exit status %d, want %d; %s", got.code, exitHeld, got.stderr)
	}
	wantAll(t, "stdout", strings.Join(strings.Fields(got.stdout), " "), "check one two withdrawal withdrawn withdrawn pass / deviation / fail 1 / 0 / 0 1 / 0 / 0")
}

func TestConformRefusesBadInput(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("deviations:\n  - {device: x, check: nonsense, reason: y}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dut := []string{"conform", "--dut", "127.14.1.1:17900", "--asn", "65010", "--patience", "300ms", "--out", filepath.Join(t.TempDir(), "out")}
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"no device", []string{"conform"}, "--dut is missing"},
		{"no ASN", []string{"conform", "--dut", "10.0.0.1"}, "--asn: 0 given: want one"},
		{"ASN 0", []string{"conform", "--dut", "10.0.0.1", "--asn", "0"}, `--asn "0": want 1 to 4294967295`},
		{"no address", []string{"conform", "--dut", "leaf", "--asn", "1"}, `--dut "leaf": want [NAME=]ADDRESS[:PORT]`},
		{"IPv6 address", []string{"conform", "--dut", "fd00::1", "--asn", "1"}, `--dut "fd00::1": want an IPv4 address`},
		{"two of one name", []string{"conform", "--dut", "a=10.0.0.1", "--dut", "a=10.0.0.2", "--asn", "1"}, `a device "a" is there already`},
		{"bad local", append(dut, "--local", "x"), `--local "x": want an IPv4 address`},
		{"both ways", append(dut, "--local", "10.0.0.1", "--listen", "10.0.0.1"), "--local and --listen"},
		{"facility", append(dut, "--without", "weighs"), `--without "weighs": want some of aggregates, forwards, internal`},
		{"check", append(dut, "--check", "nonsense"), `--check: check "nonsense": no such check`},
		{"plan", append(dut, "--plan", "ios"), `--plan: maker "ios": want one of table, frr, bird`},
		{"deviations", append(dut, "--deviations", bad), bad + `:2:24: field "deviations[0].check": value "nonsense": no such check`},
		{"no deviations", append(dut, "--deviations", "no-such-file"), "--deviations: "},
		{"nobody there", dut, "session a from 127.14.1.2 (ASN 64601): not up within 300ms"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := bagrig(t, tc.args...)
			if got.code != exitBad || !strings.Contains(got.stderr, tc.want) {
				t.Errorf("got exit status %d and %q, want %d and %q", got.code, got.stderr, exitBad, tc.want)
			}
		})
	}
}

func TestConformTellsWhatToConfigure(t *testing.T) {
	for maker, want := range map[string][]string{
		"table":    {"c     10.0.0.13  64604  eBGP; tell it the sum", "i1    10.0.0.14  65010  iBGP", "100.67.1.0/24 with extended community 0x0004fdf24cee6b28"},
		"frr":      {"router bgp 65010", "neighbor 10.0.0.13 route-map CUMULATIVE out", "neighbor 10.0.0.14 route-reflector-client"},
		"bird":     {"neighbor 10.0.0.10 as 64601;", "rr client;", "bgp_ext_community.add((generic, 0x0004fdf2, 0x4cee6b28));"},
		"openbgpd": {"AS 65010", "remote-as 64601", "route-reflector"},
		"exabgp":   {"neighbor 10.0.0.12 {", "bandwidth:65010:125000000"},
	} {
		got := bagrig(t, "conform", "--dut", "10.0.0.1", "--asn", "65010", "--local", "10.0.0.10", "--plan", maker)
		if got.code != exitHeld {
			t.Errorf("%s: exit status %d; %s", maker, got.code, got.stderr)
		}
		wantAll(t, maker, got.stdout, want...)
	}
	if got := bagrig(t, "conform", "--list"); strings.Count(got.stdout, "\n  sent: ") < 40 {
		t.Errorf("--list: got\n%s\nwant at least 40 checks", got.stdout)
	}
}
