package keyrange

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"revtail/etcdstore"
)

// parser reads the parameters of a query, and keeps the first error.
type parser struct {
	values url.Values
	err    error
}

func (p *parser) refuse(name, format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("%s=%.64q: %s", name, p.values.Get(name), fmt.Sprintf(format, args...))
	}
}

// flag reads a boolean parameter. Without a value it is true.
func (p *parser) flag(name string) bool {
	given, ok := p.values[name]
	if !ok {
		return false
	}
	switch strings.ToLower(given[0]) {
	case "", "1", "true":
		return true
	case "0", "false":
		return false
	}
	p.refuse(name, "want true or false, or nothing, which is true")
	return true
}

// keyword reads a parameter that has only one value, and reports whether it is given. meaning explains the value in the error.
func (p *parser) keyword(name, value, meaning string) bool {
	text := p.values.Get(name)
	if text != "" && text != value {
		p.refuse(name, "want %s, %s", value, meaning)
	}
	return text == value
}

// number reads a positive number; zero: it is not given.
func (p *parser) number(name string) int64 {
	text := p.values.Get(name)
	if text == "" {
		return 0
	}
	n, err := parseNumber(text)
	if err != nil {
		p.refuse(name, "%v", err)
	}
	return n
}

// parseNumber parses a positive number. Its error says what is wanted.
func parseNumber(text string) (int64, error) {
	if i := strings.IndexFunc(text, func(c rune) bool { return !unicode.IsDigit(c) }); i >= 0 {
		return 0, fmt.Errorf("want a whole number greater than 0, and %q is at character %d", firstOf(text[i:]), i+1)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, errors.New("want a whole number greater than 0 and less than 2^63")
	}
	return n, nil
}

func firstOf(text string) string { return string([]rune(text)[:1]) }

func (p *parser) revision(name string) etcdstore.Revision {
	return etcdstore.Revision(p.number(name))
}

func (p *parser) duration(name string) time.Duration {
	text := p.values.Get(name)
	if text == "" {
		return 0
	}
	d, err := parseDuration(text)
	if err != nil {
		p.refuse(name, "want a time greater than 0, such as 30s or 5m: %v", err)
	}
	return d
}

// parseDuration parses a positive duration. Its error does not repeat the whole text.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New(strings.TrimPrefix(err.Error(), "time: "))
	}
	if d <= 0 {
		return 0, fmt.Errorf("%v is not", d)
	}
	return d, nil
}

// at reads the parameter at=.
func (p *parser) at(q *Query) {
	m, err := ParseMoment(p.values.Get("at"))
	if err != nil {
		p.refuse("at", "%v", err)
		return
	}
	q.At, q.AtTime = m.Revision, m.Time
}
