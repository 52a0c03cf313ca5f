package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/bagrig/bagrig/damping"
)

func trace(t *testing.T, preset, recording string) *damping.Trace {
	t.Helper()
	p, err := damping.Preset(preset, 800e9)
	if err != nil {
		t.Fatal(err)
	}
	series, err := damping.Recording(recording)
	if err != nil {
		t.Fatal(err)
	}
	info := damping.BundleInfo{Members: damping.MostMembers(series), Speed: 800e9}
	got, err := damping.Replay(p, info, series, series[len(series)-1].At+time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// texts are the texts of a drawing; it must be well-formed.
func texts(t *testing.T, svg []byte) string {
	t.Helper()
	var all []string
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, "|")
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			all = append(all, strings.TrimSpace(string(data)))
		}
	}
}

func drawn(t *testing.T, format Format, of *damping.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Trace(&b, format, "a <title> & more", of); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAPlotNamesWhatItShowsAndOnlyThat(t *testing.T) {
	got := texts(t, drawn(t, SVG, trace(t, damping.PresetBagDefault, "optical-link")))
	for _, want := range []string{"a <title> & more", "capacity, Tbit/s", "time, min", "told too much", "told too little", "bottleneck value", "told value", "held back"} {
		if !strings.Contains(got, want) {
			t.Errorf("got texts %s, want %q among them", got, want)
		}
	}
	if strings.Contains(got, "withheld") {
		t.Errorf("got texts %s, want no path withheld: none is", got)
	}
	got = texts(t, drawn(t, SVG, trace(t, damping.PresetRFDCisco, "optical-link")))
	if !strings.Contains(got, "path withheld") || strings.Contains(got, "too much") {
		t.Errorf("got texts %s, want a path withheld and nothing told too much", got)
	}
}

func TestOneTraceGivesTheSameBytes(t *testing.T) {
	for _, format := range []Format{SVG, PNG} {
		a, b := drawn(t, format, trace(t, damping.PresetBagDefault, "noise-576")), drawn(t, format, trace(t, damping.PresetBagDefault, "noise-576"))
		if !bytes.Equal(a, b) {
			t.Errorf("%s: got %d and %d bytes that differ", format, len(a), len(b))
		}
	}
}

func TestAPNGIsAnImage(t *testing.T) {
	got, err := png.Decode(bytes.NewReader(drawn(t, PNG, trace(t, damping.PresetNone, "rfc2439-flap"))))
	if err != nil || got.Bounds().Dx() < 2*got.Bounds().Dy() {
		t.Errorf("got %v, %v, want an image twice as wide as high", got, err)
	}
}

func TestTicksAreFewAndNeverNegative(t *testing.T) {
	for _, c := range []struct{ lo, hi float64 }{{-3, 25}, {0, 1}, {0, 0.003}, {0, 484}, {0, 86400}, {0, 8.001}, {0, 9.99}, {1e-9, 2e-9}, {0, 1e9}} {
		list := ticks(c.lo, c.hi)
		if len(list) < 3 || len(list) > 9 || list[0].Value < 0 || list[len(list)-1].Value > c.hi {
			t.Errorf("%v to %v: got %v, want 3 to 9 between them", c.lo, c.hi, list)
		}
	}
}

func TestAnEmptyTraceAndAnUnknownFormatAreErrors(t *testing.T) {
	if err := Trace(io.Discard, SVG, "x", &damping.Trace{}); err == nil || !strings.Contains(err.Error(), `plot "x"`) {
		t.Errorf("empty: got %v", err)
	}
	if err := Trace(io.Discard, "bmp", "x", trace(t, damping.PresetNone, "fibre-cut")); err == nil || !strings.Contains(err.Error(), "bmp") {
		t.Errorf("format: got %v", err)
	}
	one := &damping.Trace{Changes: []damping.Change{{}}}
	if err := Trace(io.Discard, SVG, "x", one); err != nil {
		t.Errorf("one change and no time: got %v", err)
	}
}
