package codec

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"revtail/encoding/jsontext"
)

const (
	maxDuplicates = 100 // as many as other servers report
	maxPath       = 256 // bytes of a path
)

// duplicates returns the paths of the members of a valid JSON body that occur more than once in their object.
func duplicates(body []byte) []string {
	f := finder{Scanner: jsontext.NewScanner(body)}
	f.value()
	return f.found
}

// finder is a scan of a body for duplicates.
type finder struct {
	jsontext.Scanner
	path  string // the way to the value that comes next, as in ".name[0]", up to a bit more than maxPath bytes
	found []string
}

func (f *finder) value() bool {
	switch f.Peek() {
	case '{':
		seen := map[string]bool{}
		return f.Object(func(quoted []byte) bool {
			name := jsontext.Unquote(quoted)
			if seen[name] {
				f.report(name)
			}
			seen[name] = true
			return f.step("." + name)
		})
	case '[':
		next := 0
		return f.Array(func() bool {
			next++
			return f.step("[" + strconv.Itoa(next-1) + "]")
		})
	}
	return f.Skip()
}

func (f *finder) step(way string) bool {
	path := f.path
	f.path = f.at(way)
	ok := f.value()
	f.path = path
	return ok
}

// at returns the path of a step from here. It does not copy more of a long name than a report shows.
func (f *finder) at(way string) string {
	if len(f.path) > maxPath+1 {
		return f.path
	}
	return f.path + way[:min(len(way), maxPath+2)]
}

func (f *finder) report(name string) {
	if len(f.found) == maxDuplicates {
		return
	}
	path := strings.TrimPrefix(f.at("."+name), ".")
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
