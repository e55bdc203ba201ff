package source

import (
	"os"
	"path/filepath"
	"testing"
)

func TestParseName(t *testing.T) {
	odd := filepath.Join(t.TempDir(), "a@1")
	if err := os.WriteFile(odd, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		text   string
		want   Name // without Text
		wrong  bool
		server bool
	}{
		{text: "backup.db", want: Name{place: "backup.db"}},
		{text: "backup.db@4711", want: Name{place: "backup.db", revision: 4711}},
		{text: odd, want: Name{place: odd}},
		{text: odd + "@2", want: Name{place: odd, revision: 2}},
		{text: "live", want: Name{place: "live"}, server: true},
		{text: "live@-10m", want: Name{place: "live", at: "-10m"}, server: true},
		{text: "https://host:8443@7", want: Name{place: "https://host:8443", revision: 7}, server: true},
		{text: "unix:///run/s@2026-11-21T10:00:00Z", want: Name{place: "unix:///run/s", at: "2026-11-21T10:00:00Z"}, server: true},
		{text: "", wrong: true},
		{text: "@1", wrong: true},
		{text: "backup.db@0", wrong: true},
		{text: "backup.db@-1", wrong: true},
		{text: "backup.db@-10m", wrong: true},
		{text: "http://user@host/path", wrong: true},
	}
	for _, test := range tests {
		got, err := ParseName(test.text)
		if (err != nil) != test.wrong {
			t.Errorf("%q: error %v", test.text, err)
		}
		if test.want.Text = test.text; err == nil && (got != test.want || got.isServer() != test.server) {
			t.Errorf("%q: %+v, want %+v", test.text, got, test.want)
		}
	}
}
