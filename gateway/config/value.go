package config

import (
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// value is a field of a Config as text.
type value interface {
	pflag.Value
	yaml() any // the value in the file; nil: none
}

type textValue string

func (v *textValue) Set(s string) error { *v = textValue(s); return nil }
func (v *textValue) String() string     { return string(*v) }
func (v *textValue) Type() string       { return "string" }
func (v *textValue) yaml() any {
	if *v == "" {
		return nil
	}
	return string(*v)
}

// listValue replaces the list at its first Set, because a source overrides the ones before it, and appends at the next ones.
type listValue struct {
	at  *[]string
	set bool
}

func (v *listValue) Set(s string) error {
	if !v.set {
		*v.at = nil
	}
	v.set = true
	for part := range strings.SplitSeq(s, ",") {
		*v.at = append(*v.at, strings.TrimSpace(part))
	}
	return nil
}
func (v *listValue) String() string { return strings.Join(*v.at, ",") }
func (v *listValue) Type() string   { return "strings" }
func (v *listValue) yaml() any {
	if len(*v.at) == 0 {
		return nil
	}
	return *v.at
}

type boolValue bool

func (v *boolValue) Set(s string) error {
	b, err := strconv.ParseBool(s)
	*v = boolValue(b)
	return err
}
func (v *boolValue) String() string { return strconv.FormatBool(bool(*v)) }
func (v *boolValue) Type() string   { return "bool" }
func (v *boolValue) yaml() any      { return bool(*v) }

type durationValue time.Duration

func (v *durationValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	*v = durationValue(d)
	return err
}
func (v *durationValue) String() string { return time.Duration(*v).String() }
func (v *durationValue) Type() string   { return "duration" }
func (v *durationValue) yaml() any      { return v.String() }

type levelValue slog.Level

func (v *levelValue) Set(s string) error { return (*slog.Level)(v).UnmarshalText([]byte(s)) }
func (v *levelValue) String() string     { return strings.ToLower(slog.Level(*v).String()) }
func (v *levelValue) Type() string       { return "level" }
func (v *levelValue) yaml() any          { return v.String() }

// countValue is a number that is not negative.
type countValue int

func (v *countValue) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 31)
	*v = countValue(n)
	return err
}
func (v *countValue) String() string { return strconv.Itoa(int(*v)) }
func (v *countValue) Type() string   { return "number" }
func (v *countValue) yaml() any      { return int(*v) }

// shareValue is a number from 0 to 1.
type shareValue float64

func (v *shareValue) Set(s string) error {
	share, err := strconv.ParseFloat(s, 64)
	if err == nil && !(share >= 0 && share <= 1) { // false for NaN
		err = errors.New("want a number from 0 to 1")
	}
	*v = shareValue(share)
	return err
}
func (v *shareValue) String() string { return strconv.FormatFloat(float64(*v), 'g', -1, 64) }
func (v *shareValue) Type() string   { return "number" }
func (v *shareValue) yaml() any      { return float64(*v) }
