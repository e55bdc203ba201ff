package codec

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDuplicates = 100 // as many as other servers report
	maxPath       = 256 // bytes of a path
)

// duplicates returns the paths of the members of a valid JSON body that occur more than once in their object.
func duplicates(body []byte) []string {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	finder := finder{decoder: decoder}
	finder.value()
	return finder.found
}

// finder walks over the tokens of a body.
type finder struct {
	decoder *json.Decoder
	path    []string // the way to the value that comes next: ".name" or "[0]"
	found   []string
}

func (f *finder) value() {
	switch token, _ := f.decoder.Token(); token {
	case json.Delim('{'):
		f.object()
	case json.Delim('['):
		for i := 0; f.decoder.More(); i++ {
			f.step("[" + strconv.Itoa(i) + "]")
		}
		_, _ = f.decoder.Token()
	}
}

func (f *finder) object() {
	seen := map[string]bool{}
	for f.decoder.More() {
		token, _ := f.decoder.Token()
		name, _ := token.(string)
		if seen[name] {
			f.report(name)
		}
		seen[name] = true
		f.step("." + name)
	}
	_, _ = f.decoder.Token()
}

func (f *finder) step(way string) {
	f.path = append(f.path, way)
	f.value()
	f.path = f.path[:len(f.path)-1]
}

func (f *finder) report(name string) {
	if len(f.found) == maxDuplicates {
		return
	}
	path := strings.TrimPrefix(strings.Join(f.path, "")+"."+name, ".")
	if len(path) > maxPath {
		path = path[:maxPath]
		for !utf8.ValidString(path) {
			path = path[:len(path)-1]
		}
		path += "…"
	}
	if !slices.Contains(f.found, path) {
		f.found = append(f.found, path)
	}
}
