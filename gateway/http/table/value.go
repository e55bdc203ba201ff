package table

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

const (
	none    = "<none>"
	unknown = "<unknown>"
)

// jsonValue is a part of a decoded object. A value that is missing, or of another type than the method returns, is empty.
type jsonValue struct{ value any }

// at returns the value at a path of member names.
func (v jsonValue) at(path ...string) jsonValue {
	for _, name := range path {
		v = jsonValue{v.members()[name]}
	}
	return v
}

func (v jsonValue) exists() bool { return v.value != nil }

func (v jsonValue) members() map[string]any {
	members, _ := v.value.(map[string]any)
	return members
}

func (v jsonValue) list() []jsonValue {
	elements, _ := v.value.([]any)
	list := make([]jsonValue, len(elements))
	for i, element := range elements {
		list[i] = jsonValue{element}
	}
	return list
}

func (v jsonValue) text() string {
	text, _ := v.value.(string)
	return text
}

func (v jsonValue) textOr(otherwise string) string {
	return cmp.Or(v.text(), otherwise)
}

func (v jsonValue) isTrue() bool { return v.value == true }

// count returns an integer, or otherwise.
func (v jsonValue) count(otherwise int64) int64 {
	switch n := v.value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return otherwise
}

// scalar returns a string, a number or a boolean as text.
func (v jsonValue) scalar() string {
	switch value := v.value.(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case int64:
		return strconv.FormatInt(value, 10)
	case float64:
		return strconv.FormatFloat(value, 'g', -1, 64)
	case json.Number:
		return value.String()
	}
	return ""
}

// time returns the time, or zero.
func (v jsonValue) time() time.Time {
	t, _ := time.Parse(time.RFC3339, v.text()) // zero with an error
	return t
}

// age returns how long ago a time was, as kubectl shows it.
func (v jsonValue) age(now time.Time) string { return ageOf(v.time(), now) }

func ageOf(t, now time.Time) string {
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(t))
}

// having returns the first element of a list in which a member is a certain string.
func (v jsonValue) having(member, text string) jsonValue {
	for _, element := range v.list() {
		if element.at(member).text() == text {
			return element
		}
	}
	return jsonValue{}
}

// condition returns the status of a condition of the object: "True", "False", "Unknown", or empty.
func (v jsonValue) condition(kind string) string {
	return v.at("status", "conditions").having("type", kind).at("status").text()
}

// joined returns texts with commas between them, or none.
func joined(texts []string) string {
	if len(texts) == 0 {
		return none
	}
	return strings.Join(texts, ",")
}

// each collects the results of a function for the elements of a list, without empty ones.
func (v jsonValue) each(say func(element jsonValue) string) []string {
	var texts []string
	for _, element := range v.list() {
		if text := say(element); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

// pairs returns members as name=value, by name.
func (v jsonValue) pairs() []string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(v.members())) {
		pairs = append(pairs, name+"="+v.at(name).scalar())
	}
	return pairs
}
