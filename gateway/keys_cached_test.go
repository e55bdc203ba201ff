package gateway

import (
	"fmt"
	"net/http"
	"testing"
)

// TestSharedAnswersDependOnNoProgram checks that an answer that shared caches may keep is the same for each program that asks, because User-Agent is
// not in Vary, and that others are indented for people.
func TestSharedAnswersDependOnNoProgram(t *testing.T) {
	s := newTestServer(t)
	at := s.putKeys("/app/a", `{"b":1}`)
	for path, shared := range map[string]bool{
		fmt.Sprintf("/v1/keys/app/a?at=%d", at):                  true,
		fmt.Sprintf("/v1/keys/app/?at=%d", at):                   true,
		fmt.Sprintf("/v1/keys/app/?watch&since=%d&wait=1ms", at): true,
		fmt.Sprintf("/v1/keys/app/a?at=%d&pretty=true", at):      true,
		"/v1/keys/app/a":             false,
		"/v1/keys/app/a?pretty=true": true,
	} {
		person, program := s.get(path, "User-Agent", "curl/8"), s.get(path, "User-Agent", "program/1")
		if person.code != http.StatusOK || (person.body == program.body) != shared {
			t.Errorf("%s: %d %q for curl, and %q for a program", path, person.code, person.body, program.body)
		}
	}
}
