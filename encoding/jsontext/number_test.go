package jsontext

import "testing"

func TestParseDecimal(t *testing.T) {
	tests := []struct {
		a, b  string
		equal bool
	}{
		{"0", "-0.00e5", true},
		{"1", "1.0", true},
		{"100", "1e2", true},
		{"0.001", "1E-3", true},
		{"12.5e1", "125", true},
		{"0.0e99999999999999999999", "0", true},
		{"1", "-1", false},
		{"1", "10", false},
		{"0.1", "0.01", false},
		{"1e99999999999999999999", "1e9", false},
		{"9007199254740993", "9007199254740992", false},
	}
	for _, tt := range tests {
		if got := parseDecimal(tt.a) == parseDecimal(tt.b); got != tt.equal {
			t.Errorf("%s == %s: %t, want %t", tt.a, tt.b, got, tt.equal)
		}
	}
}
