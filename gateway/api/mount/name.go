package mount

import (
	"encoding/hex"
	"strings"
)

// A key becomes a name that a DNS subdomain could have, and no two keys the same one:
//
//	a-z 0-9                                     as they are
//	- and .  between two of these               as they are
//	/        between two of these               --
//	a run of all other bytes                    ---, two hexadecimal digits for each, and - unless the name ends there
//
// A name that would begin with --- has an x before it; an x that would look like that one is itself written as 78. So db/host is
// db--host, logLevel is log---4c-evel and _x is x---5f-x. The key that is empty is x---empty.
const (
	slash  = "--"
	escape = "---"
	marked = "x" + escape
	empty  = marked + "empty"
)

// nowhere is the namespace of the keys that have no segment for one.
const nowhere = marked + "none"

// maxName bounds names and namespaces, in bytes: as segments of URLs.
const maxName = 1 << 10

// The separators that stay, between letters and digits: a namespace is one label of a DNS name.
const (
	inName      = "-./"
	inNamespace = "-"
)

// escapeName returns the name of a key; the separators stay as they are between letters and digits.
func escapeName(key, separators string) string {
	if key == "" {
		return empty
	}
	e := escaper{key: key, separators: separators}
	name := e.append(make([]byte, 0, len(key)+8), 0)
	switch {
	case strings.HasPrefix(string(name), marked): // with an x of the key
		return string(e.append([]byte("x"), 1))
	case strings.HasPrefix(string(name), escape):
		return "x" + string(name)
	}
	return string(name)
}

type escaper struct{ key, separators string }

// append appends the key, of which the first bytes are escaped whatever they are.
func (e escaper) append(dst []byte, first int) []byte {
	open := false // a run of escaped bytes is being written
	for i := range len(e.key) {
		if i < first || !e.plain(i) {
			if !open {
				dst = append(dst, escape...)
			}
			dst, open = hex.AppendEncode(dst, []byte{e.key[i]}), true
			continue
		}
		if open {
			dst, open = append(dst, '-'), false
		}
		if e.key[i] == '/' {
			dst = append(dst, slash...)
		} else {
			dst = append(dst, e.key[i])
		}
	}
	return dst
}

// plain reports whether a byte is written without hexadecimal digits.
func (e escaper) plain(i int) bool {
	c := e.key[i]
	return isAlphanumeric(c) || strings.IndexByte(e.separators, c) >= 0 &&
		0 < i && i < len(e.key)-1 && isAlphanumeric(e.key[i-1]) && isAlphanumeric(e.key[i+1])
}

func isAlphanumeric(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// unescapeName returns the key of a name, as the inverse of escapeName; false: no key has that name.
func unescapeName(name, separators string) (key string, ok bool) {
	if name == empty {
		return "", true
	}
	bare := name
	if strings.HasPrefix(name, marked) {
		bare = name[1:]
	}
	key, ok = unescape(bare)
	return key, ok && key != "" && escapeName(key, separators) == name
}

// unescape is the inverse of escaper. Its result for other texts is undefined.
func unescape(name string) (string, bool) {
	var key []byte
	for len(name) > 0 {
		if digits, ok := strings.CutPrefix(name, escape); ok {
			digits, name, _ = strings.Cut(digits, "-")
			run, err := hex.DecodeString(digits)
			if err != nil {
				return "", false
			}
			key = append(key, run...)
		} else if rest, ok := strings.CutPrefix(name, slash); ok {
			key, name = append(key, '/'), rest
		} else {
			key, name = append(key, name[0]), name[1:]
		}
	}
	return string(key), true
}
