package keyapi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ParseText parses a transaction as etcdctl writes it: comparisons, operations and other operations, with empty lines in between.
func ParseText(text string) (out Txn, err error) {
	part := 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" {
			part++
			continue
		}
		switch part {
		case 0:
			var c TxnCompare
			c, err = parseCompare(line)
			out.Compare = append(out.Compare, c)
		case 1, 2:
			var op TxnOp
			if op, err = parseOp(line); part == 1 {
				out.Then = append(out.Then, op)
			} else {
				out.Else = append(out.Else, op)
			}
		default:
			err = fmt.Errorf("%q follows a third empty line: want three parts, which are comparisons, operations and other operations", line)
		}
		if err != nil {
			return out, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return out, nil
}

// comparison is, for example, mod("/app/theme") = "7".
var comparison = regexp.MustCompile(`^([a-z]+)\s*\(\s*("(?:[^"\\]|\\.)*"|[^")]+)\s*\)\s*(!=|=|<|>)\s*(.+)$`)

func parseCompare(line string) (out TxnCompare, err error) {
	parts := comparison.FindStringSubmatch(line)
	if parts == nil {
		return out, fmt.Errorf(`%q: want a comparison, as mod("/app/theme") = "7" or value("/app/mode") != "locked"`, line)
	}
	key, err := unquote(strings.TrimSpace(parts[2]))
	if err != nil {
		return out, err
	}
	operand, err := unquote(parts[4])
	if err != nil {
		return out, err
	}
	out.Name, out.Is = NewName(key), parts[3]
	var number int64
	switch parts[1] {
	case "mod", "m":
		out.ModRevision = &number
	case "create", "cre", "c":
		out.CreateRevision = &number
	case "version", "ver":
		out.Version = &number
	case "value", "val":
		out.Value = NewValue([]byte(operand))
		return out, nil
	default:
		return out, fmt.Errorf("%s: want mod, create, version or value", parts[1])
	}
	if number, err = strconv.ParseInt(operand, 10, 64); err != nil {
		return out, fmt.Errorf("%s(%q) is compared with %q: want a number, as \"7\"", parts[1], key, operand)
	}
	return out, nil
}

// unquote returns a word, which may be a string of Go.
func unquote(word string) (string, error) {
	if !strings.HasPrefix(word, `"`) {
		return word, nil
	}
	out, err := strconv.Unquote(word)
	if err != nil {
		return "", fmt.Errorf(`%s: want a string in double quotes, as "a\nb"`, word)
	}
	return out, nil
}

// word is a word of an operation: a string of Go, or what has no space.
var word = regexp.MustCompile(`^\s*("(?:[^"\\]|\\.)*"|[^\s"]\S*)`)

func parseOp(line string) (out TxnOp, err error) {
	const want = "want get KEY, put KEY VALUE, del KEY or del --prefix PREFIX/"
	var words []string
	for rest := line; rest != ""; {
		match := word.FindStringSubmatch(rest)
		if match == nil {
			return out, fmt.Errorf("%q: %s", line, want)
		}
		text, err := unquote(match[1])
		if err != nil {
			return out, err
		}
		words, rest = append(words, text), strings.TrimSpace(rest[len(match[0]):])
	}
	switch {
	case len(words) == 2 && words[0] == "get":
		name := NewName(words[1])
		out.Get = &name
	case len(words) == 3 && words[0] == "put":
		out.Put = &TxnPut{NewName(words[1]), NewValue([]byte(words[2]))}
	case len(words) == 2 && words[0] == "del":
		out.Delete = &TxnDelete{NewName(words[1]), false}
	case len(words) == 3 && words[0] == "del" && words[1] == "--prefix":
		out.Delete = &TxnDelete{NewName(words[2]), true}
	default:
		return out, fmt.Errorf("%q: %s", line, want)
	}
	return out, nil
}
