package response

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"revtail/encoding/protobuf"
)

// FuzzNegotiate checks that a response has a media type that the Accept header has, with a weight above zero, and that no better
// one was left out; and that the formats of errors, which always have one, are of these too where that is possible.
func FuzzNegotiate(f *testing.F) {
	for _, seed := range []string{
		"", "*/*", "application/json", "application/yaml;q=0.9, application/json;q=0.1", "text/html, */*;q=0", "application/json;q=NaN",
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/vnd.kubernetes.protobuf,application/json", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"text/event-stream", `application/json;x="a,b";q=0.5`, "application/json;stream=watch;pretty=1", "application/json;q=2, application/yaml",
	} {
		for about := range 9 {
			f.Add(seed, about)
		}
	}
	f.Fuzz(func(t *testing.T, header string, about int) {
		about = ((about % 9) + 9) % 9
		kind, offer := Kind(about%3), Protobuf(about/3)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/pods", http.NoBody)
		r.Header["Accept"] = []string{header}
		ranges := Accepted(r)
		if len(ranges) > strings.Count(header, ",")+1 {
			t.Errorf("%q has %d ranges", header, len(ranges))
		}
		if !slices.IsSortedFunc(ranges, func(a, b MediaRange) int { return int(sign(b.quality - a.quality)) }) {
			t.Errorf("%q: the ranges are not in order: %+v", header, ranges)
		}
		for _, m := range ranges {
			if !(m.quality > 0 && m.quality <= 1) || strings.TrimSpace(header) != "" && !strings.Contains(strings.ToLower(header), m.Media) {
				t.Errorf("%q has no range %+v", header, m)
			}
		}
		checkRepresentation(t, r, ranges, kind, offer)
	})
}

func sign(f float64) float64 {
	switch {
	case f < 0:
		return -1
	case f > 0:
		return 1
	}
	return 0
}

// checkRepresentation checks that the representation is that of the first range that is possible, and 406 if there is none.
func checkRepresentation(t *testing.T, r *http.Request, ranges []MediaRange, kind Kind, offer Protobuf) {
	t.Helper()
	got, err := Negotiate(r, kind, offer)
	first := slices.IndexFunc(ranges, func(m MediaRange) bool {
		f, ok := m.representation(kind)
		return ok && (!f.Protobuf || offer.has(f.As)) && (f.As != asMetadata || kind != List) && (f.As != asMetadataList || kind == List)
	})
	if (err == nil) != (first >= 0) {
		t.Errorf("%q is %+v (%v), and the best range is %d of %+v", r.Header["Accept"], got, err, first, ranges)
	}
	if err != nil {
		return
	}
	m := ranges[first]
	want := JSON
	if m.Media == EventStream || m.Media == YAML || m.Media == protobuf.MediaType {
		want = m.Media
	}
	media := got.Format(r).ContentType()
	switch {
	case got.EventStream:
		media = EventStream
	case got.Protobuf:
		media = protobuf.MediaType
	}
	if media != want || got.EventStream && kind != Watch || got.yaml && kind == Watch || got.As != m.Parameters["as"] {
		t.Errorf("%q is answered with %s %+v, want %s", r.Header["Accept"], media, got, want)
	}
}

// weighted matches a coding with its weight (RFC 9110, sections 12.4.2 and 12.5.3).
var weighted = regexp.MustCompile("^[ \t]*([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*(?:;[ \t]*[qQ]=(0(?:\\.[0-9]{0,3})?|1(?:\\.0{0,3})?))?[ \t]*$")

// FuzzAcceptEncoding checks that a response is compressed only with a coding that the header names, and that valid headers get the
// coding of the greatest weight.
func FuzzAcceptEncoding(f *testing.F) {
	for _, seed := range []string{
		"gzip", "gzip, zstd", "gzip;q=0", "gzip;Q=0", "GZIP;q=0.5, zstd;q=0.4", "identity, gzip;q=0.9", "zstd;q=NaN", "gzip;q=-1", "gzip;q=x", "*", "br;q=1, *;q=0",
		"gzip;level=9;q=0",
	} {
		f.Add(seed)
	}
	compressors := NewCompressors()
	f.Fuzz(func(t *testing.T, header string) {
		chosen := compressors.preferred(header)
		if chosen != nil && !strings.Contains(strings.ToLower(header), chosen.Name) {
			t.Errorf("%q is answered with %s", header, chosen.Name)
		}
		weights := map[string]float64{}
		for part := range strings.SplitSeq(header, ",") {
			found := weighted.FindStringSubmatch(part)
			if found == nil {
				return // not valid: the response may be compressed or not
			}
			name := strings.ToLower(found[1])
			if _, twice := weights[name]; twice {
				return
			}
			weights[name] = 1
			if found[2] != "" {
				weights[name], _ = strconv.ParseFloat(found[2], 64) // the expression matches numbers only
			}
		}
		want := ""
		if best := max(weights["gzip"], weights["zstd"]); best > 0 && best >= weights["identity"] {
			if want = "gzip"; weights["zstd"] > weights["gzip"] {
				want = "zstd"
			}
		}
		if got := nameOf(chosen); got != want {
			t.Errorf("%q is answered with %q, want %q", header, got, want)
		}
	})
}

func nameOf(c *Coding) string {
	if c == nil {
		return ""
	}
	return c.Name
}
