// Package capture writes what the wires of a run carried as files that the usual
// tools read: MRT (RFC 6396, as bgpdump and GoBGP read it) and pcapng (as tshark
// does). It hears each message once, when a wire has read it from its sender; it
// needs no speaker and no network.
//
// Fences are not in it, since they are the rig's own and no speaker gets them. A
// message that an event holds is there when it was sent, and not when it went on.
// Times are real. The virtual time, which stands still while messages are under
// way, is a comment of each packet.
//
//	w, err := capture.Create(topology, "run.mrt", "run.pcapng") // either may be empty
//	harness.Run(ctx, scenario, harness.RunOptions{Capture: w})
//	err = w.Close()
package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/bagrig/bagrig/harness/state"
	"github.com/bagrig/bagrig/topologies"
)

// Writer writes captures. It is a live.Capturer; its methods may be called from any
// goroutine. What cannot be written is an error of Close, and the rest of that file
// is then left out.
type Writer struct {
	mu       sync.Mutex
	topology *topologies.Topology
	index    *topologies.Index
	files    []*file
	open     map[int32]*session // by bundle
	opened   int                // sessions so far
	clock    func() time.Time
}

// file is a capture that is being written.
type file struct {
	path    string
	closer  io.Closer
	buffer  *bufio.Writer
	format  format
	written error
}

// format is how a file has messages.
type format interface {
	opened(at time.Time, s *session) error
	message(at time.Time, virtual time.Duration, s *session, from int, message []byte) error
	closed(at time.Time, s *session) error
	flush() error
}

// session is one life of a bundle's session.
type session struct {
	number int // from 0, in the order in which sessions came up
	name   [2]string
	addr   [2]netip.Addr
	asn    [2]uint32
	next   [2]uint32 // TCP sequence number of the end's next byte
	id     [2]uint16 // of the end's next IP packet
}

// Create creates the files, over what is there: MRT at one path, pcapng at the other;
// no file where the path is empty.
func Create(t *topologies.Topology, mrt, pcap string) (*Writer, error) {
	w := &Writer{topology: t, index: t.Index(), open: map[int32]*session{}, clock: time.Now}
	if mrt != "" && pcap != "" && filepath.Clean(mrt) == filepath.Clean(pcap) {
		return nil, fmt.Errorf("captures: MRT and pcap both at %s: want two files", mrt)
	}
	for _, f := range []struct {
		path string
		make func(io.Writer) (format, error)
	}{{mrt, newMRT}, {pcap, newPCAP}} {
		if f.path == "" {
			continue
		}
		out, err := os.Create(f.path)
		if err == nil {
			err = w.add(f.path, out, f.make)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("capture: %w", err), w.Close())
		}
	}
	return w, nil
}

func (w *Writer) add(path string, out io.WriteCloser, start func(io.Writer) (format, error)) error {
	buffer := bufio.NewWriter(out)
	f, err := start(buffer)
	if err != nil {
		return errors.Join(err, out.Close())
	}
	w.files = append(w.files, &file{path: path, closer: out, buffer: buffer, format: f})
	return nil
}

// Opened begins a session between two addresses, those of the bundle's A and B.
func (w *Writer) Opened(bundle int32, ends [2]netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &session{number: w.opened, addr: ends}
	for i, d := range w.index.Ends[bundle] {
		s.name[i], s.asn[i] = w.topology.Devices[d].Name, w.topology.Devices[d].ASN
	}
	w.opened++
	w.open[bundle] = s
	w.each(func(f format) error { return f.opened(w.clock(), s) })
}

// Message is one that an end of a session has sent.
func (w *Writer) Message(dir state.Direction, virtual time.Duration, message []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, from := w.open[dir.Bundle], 0
	if s == nil {
		return
	}
	if dir.FromB {
		from = 1
	}
	at := w.clock()
	w.each(func(f format) error { return f.message(at, virtual, s, from, message) })
}

// Closed ends a session.
func (w *Writer) Closed(bundle int32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s := w.open[bundle]; s != nil {
		w.each(func(f format) error { return f.closed(w.clock(), s) })
		delete(w.open, bundle)
	}
}

// each writes to all files that could be written so far.
func (w *Writer) each(write func(format) error) {
	for _, f := range w.files {
		if f.written == nil {
			f.written = write(f.format)
		}
	}
}

// Close completes the files and tells what went wrong with them.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var errs []error
	for _, f := range w.files {
		if f.written == nil {
			f.written = f.format.flush()
		}
		if f.written == nil {
			f.written = f.buffer.Flush()
		}
		if err := errors.Join(f.written, f.closer.Close()); err != nil {
			errs = append(errs, fmt.Errorf("capture %s is not complete: %w", f.path, err))
		}
	}
	w.files = nil
	return errors.Join(errs...)
}
