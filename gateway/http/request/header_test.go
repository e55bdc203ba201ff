package request

import (
	"strings"
	"testing"
)

// TestProgramOfUserAgent checks that the program's name is a valid name of a field manager.
func TestProgramOfUserAgent(t *testing.T) {
	for agent, want := range map[string]string{
		"": "", "kubectl/v1.37 (linux/amd64)": "kubectl", "/x": "", "a\x00b\u200bc/1": "abc", strings.Repeat("é", 100): strings.Repeat("é", 64),
	} {
		if got := Program(agent); got != want {
			t.Errorf("programOf(%q) = %q, want %q", agent, got, want)
		}
	}
}
