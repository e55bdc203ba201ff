package config

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// value reads a field of a Config from text, and shows it as text. It is a pflag.Value.
type value struct {
	field any  // a pointer to a type that Set knows
	set   bool // Set was called
}

// Set parses a text. The first Set replaces a list, because a source overrides the ones before it, and the next ones append to it.
func (v *value) Set(s string) (err error) {
	switch field := v.field.(type) {
	case *string:
		*field = s
	case *[]string:
		if !v.set {
			*field = nil
		}
		for part := range strings.SplitSeq(s, ",") {
			*field = append(*field, strings.TrimSpace(part))
		}
	case *bool:
		*field, err = strconv.ParseBool(s)
	case *time.Duration:
		*field, err = time.ParseDuration(s)
	case *slog.Level:
		err = field.UnmarshalText([]byte(s))
	case *int: // not negative
		var n uint64
		n, err = strconv.ParseUint(s, 10, 31)
		*field = int(n)
	case *float64: // a share
		*field, err = strconv.ParseFloat(s, 64)
		if err == nil && !(*field >= 0 && *field <= 1) { // false for NaN
			err = errors.New("want a number from 0 to 1")
		}
	}
	v.set = true
	return err
}

// String returns the text that Set parses to the value.
func (v *value) String() string {
	switch field := v.field.(type) {
	case *[]string:
		return strings.Join(*field, ",")
	case *slog.Level:
		return strings.ToLower(field.String())
	}
	return fmt.Sprint(reflect.ValueOf(v.field).Elem())
}

// Type returns the type of the value. In --help it names the value if the usage does not, and the default of a string has quotes.
func (v *value) Type() string {
	switch v.field.(type) {
	case *string:
		return "string"
	case *bool:
		return "bool"
	case *time.Duration:
		return "duration"
	}
	return "value"
}

// yaml returns the value in the file; nil: none.
func (v *value) yaml() any {
	switch field := v.field.(type) {
	case *bool, *int, *float64:
		return field
	case *[]string:
		if len(*field) > 0 {
			return *field
		}
	default:
		if text := v.String(); text != "" {
			return text
		}
	}
	return nil
}
