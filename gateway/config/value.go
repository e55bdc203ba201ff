package config

import (
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
)

// value reads a field of a Config from text, and shows it as text. It is a pflag.Value.
type value struct {
	field any  // a pointer to a type that Set knows
	set   bool // Set was called
}

// Set parses a text. The first Set replaces a list, because a source overrides the ones before it, and the next ones append to it. The
// error says what is wanted, and not what was given.
func (v *value) Set(s string) error {
	valid, want := true, ""
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
		b, err := strconv.ParseBool(s)
		*field, valid, want = b, err == nil, "want true or false"
	case *time.Duration:
		d, err := ParseDuration(s)
		*field, valid, want = d, err == nil, "want a time, as 90s, 10m, 1h30m or 7d"
		if _, err := strconv.ParseFloat(s, 64); err == nil {
			want = "missing unit: " + want
		}
	case *Bytes:
		n, err := humanize.ParseBytes(s)
		*field, valid, want = Bytes(n), err == nil && n <= math.MaxInt64, "want a number of bytes, as 512MiB or 10GiB"
	case *slog.Level:
		valid, want = field.UnmarshalText([]byte(s)) == nil, "want debug, info, warn or error"
	case *int: // not negative
		n, err := strconv.ParseUint(s, 10, 31)
		*field, valid, want = int(n), err == nil, fmt.Sprintf("want a whole number from 0 to %d, as 100", math.MaxInt32)
	case *float64: // a share
		n, err := strconv.ParseFloat(s, 64)
		*field, valid, want = n, err == nil && n >= 0 && n <= 1, "want a number from 0 to 1, as 0.25" // NaN is not valid
	}
	v.set = true
	if !valid {
		return &ValueError{want}
	}
	return nil
}

// ValueError says what an option wants. It does not repeat the value that was given.
type ValueError struct{ Want string }

func (e *ValueError) Error() string { return e.Want }

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

// Bytes is a size.
type Bytes int64

// String returns the size with its unit, as 10GiB.
func (b Bytes) String() string {
	if b == 0 {
		return "0"
	}
	return strings.ReplaceAll(humanize.IBytes(uint64(b)), " ", "")
}

// ParseDuration parses a duration, which may begin with days, as 7d or 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	days, rest, ok := strings.Cut(s, "d")
	if !ok {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, err
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	return d + more, err
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
	case *int:
		return "int"
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
