package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"revtail/cmd/revtail/command"
	"revtail/encoding"
)

// Op is the kind of a line.
type Op byte

// The kinds of lines.
const (
	Removed Op = '-'
	Added   Op = '+'
	Context Op = ' ' // the place of the lines below
)

// Line is a line of a difference, without control characters, because they would act on a terminal.
type Line struct {
	Op   Op
	Text string
}

// Documents returns the lines that turn before into after; before may be nil. It ignores the paths for which skip is true.
func Documents(before, after []byte, skip func(path string) bool) ([]Line, error) {
	d := differ{skip: skip}
	old, err := decode(before)
	if err != nil {
		return nil, err
	}
	next, err := decode(after)
	if err != nil {
		return nil, err
	}
	d.values("", old, next)
	return d.lines, nil
}

// absent is the value of a member or element that does not exist.
type absent struct{}

func decode(text []byte) (any, error) {
	if text == nil {
		return absent{}, nil
	}
	var out any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err := decoder.Decode(&out)
	return out, err
}

type differ struct {
	skip  func(string) bool
	lines []Line
}

func (d *differ) add(op Op, text string) {
	d.lines = append(d.lines, Line{op, command.Printable(text)})
}

func (d *differ) values(path string, old, next any) {
	if d.skip(path) {
		return
	}
	switch o := old.(type) {
	case map[string]any:
		if n, ok := next.(map[string]any); ok {
			d.objects(path, o, n)
			return
		}
	case []any:
		if n, ok := next.([]any); ok {
			d.arrays(path, o, n)
			return
		}
	case string:
		if n, ok := next.(string); ok && o != n && strings.Contains(o+n, "\n") {
			d.add(Context, path+":")
			d.text(strings.Split(o, "\n"), strings.Split(n, "\n"))
			return
		}
	}
	if !equal(old, next) {
		d.leaves(Removed, path, old)
		d.leaves(Added, path, next)
	}
}

func (d *differ) objects(path string, old, next map[string]any) {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(old)), maps.Keys(next))
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		d.values(joinPath(path, key), valueOf(old, key), valueOf(next, key))
	}
}

func valueOf(object map[string]any, key string) any {
	if v, ok := object[key]; ok {
		return v
	}
	return absent{}
}

// arrays compares elements by their names if all have one, else by their positions between the common prefix and suffix.
func (d *differ) arrays(path string, old, next []any) {
	oldNames, oldByName := named(old)
	nextNames, nextByName := named(next)
	if oldByName != nil && nextByName != nil {
		for _, name := range oldNames {
			d.values(path+"["+name+"]", oldByName[name], valueOf(nextByName, name))
		}
		for _, name := range nextNames {
			if oldByName[name] == nil {
				d.values(path+"["+name+"]", absent{}, nextByName[name])
			}
		}
		return
	}
	from, oldEnd, nextEnd := trim(old, next, equal)
	for i := from; i < max(oldEnd, nextEnd); i++ {
		before, after := any(absent{}), any(absent{})
		if i < oldEnd {
			before = old[i]
		}
		if i < nextEnd {
			after = next[i]
		}
		d.values(fmt.Sprintf("%s[%d]", path, i), before, after)
	}
}

// trim returns the length of the common prefix, and the positions of the common suffix.
func trim[T any](old, next []T, equal func(a, b T) bool) (from, oldEnd, nextEnd int) {
	oldEnd, nextEnd = len(old), len(next)
	for from < min(oldEnd, nextEnd) && equal(old[from], next[from]) {
		from++
	}
	for min(oldEnd, nextEnd) > from && equal(old[oldEnd-1], next[nextEnd-1]) {
		oldEnd, nextEnd = oldEnd-1, nextEnd-1
	}
	return from, oldEnd, nextEnd
}

// named returns the names of the elements, and the elements by name, if all are objects with distinct names; else nil.
func named(elements []any) (names []string, byName map[string]any) {
	byName = make(map[string]any)
	for _, element := range elements {
		object, _ := element.(map[string]any)
		name, isText := object["name"].(string)
		if !isText || byName[name] != nil {
			return nil, nil
		}
		names, byName[name] = append(names, name), object
	}
	return names, byName
}

// leaves adds a line for each leaf of an added or removed value.
func (d *differ) leaves(op Op, path string, value any) {
	if d.skip(path) {
		return
	}
	switch v := value.(type) {
	case absent:
		return
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			d.leaves(op, joinPath(path, key), v[key])
		}
		if len(v) > 0 {
			return
		}
	case []any:
		names, byName := named(v)
		for i, element := range v {
			at := fmt.Sprintf("[%d]", i)
			if byName != nil {
				at = "[" + names[i] + "]"
			}
			d.leaves(op, path+at, element)
		}
		if len(v) > 0 {
			return
		}
	case string:
		if lines := strings.Split(strings.TrimSuffix(v, "\n"), "\n"); len(lines) > 1 {
			d.add(op, path+":")
			for _, line := range lines {
				d.add(op, "  "+line)
			}
			return
		}
	}
	d.add(op, path+": "+encode(value))
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

func joinPath(path, key string) string {
	switch {
	case !identifier.MatchString(key):
		return path + "[" + encode(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

func encode(value any) string {
	text, _ := encoding.MarshalValue(value) // a decoded value can be encoded
	return string(text)
}

func equal(a, b any) bool {
	_, noA := a.(absent)
	_, noB := b.(absent)
	return noA == noB && (noA || encode(a) == encode(b))
}
