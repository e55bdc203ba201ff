package table

import (
	"encoding/json"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

const unknown = "<unknown>"

// jsonValue is a part of a decoded object. A value that is missing, or of another type than the method returns, is empty.
type jsonValue struct{ value any }

// at returns the value at a path of member names.
func (v jsonValue) at(path ...string) jsonValue {
	for _, name := range path {
		members, _ := v.value.(map[string]any)
		v = jsonValue{members[name]}
	}
	return v
}

// name returns the name of an object.
func (v jsonValue) name() string { return v.at("metadata", "name").text() }

// elements yields the elements of a list.
func (v jsonValue) elements(yield func(jsonValue) bool) {
	list, _ := v.value.([]any)
	for _, element := range list {
		if !yield(jsonValue{element}) {
			return
		}
	}
}

func (v jsonValue) exists() bool { return v.value != nil }

func (v jsonValue) text() string {
	text, _ := v.value.(string)
	return text
}

func (v jsonValue) integer() int64 {
	switch n := v.value.(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return 0
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
func (v jsonValue) age(now time.Time) string {
	t := v.time()
	if t.IsZero() {
		return unknown
	}
	return duration.HumanDuration(now.Sub(t))
}
