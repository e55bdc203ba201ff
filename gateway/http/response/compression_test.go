package response

import "testing"

func TestPreferredCoding(t *testing.T) {
	c := NewCompressors()
	for _, test := range []struct{ header, want string }{
		{"", ""},
		{"gzip", "gzip"},
		{"GZIP", "gzip"},
		{"zstd", "zstd"},
		{"deflate, gzip, br, zstd", "gzip"},
		{"gzip;q=0.5, zstd", "zstd"},
		{"gzip, zstd;q=0.9", "gzip"},
		{"gzip; q=0", ""},
		{"gzip;q=0, zstd;q=0.1", "zstd"},
		{"gzip;q=0.5, identity", ""},
		{"gzip;q=0.5, identity;q=0.1", "gzip"},
		{"gzip;q=many", ""},
		{"identity", ""},
		{"deflate, br", ""},
		{"*", ""},
	} {
		got := ""
		if coding := c.preferred(test.header); coding != nil {
			got = coding.Name
		}
		if got != test.want {
			t.Errorf("Accept-Encoding %q: %q, want %q", test.header, got, test.want)
		}
	}
}
