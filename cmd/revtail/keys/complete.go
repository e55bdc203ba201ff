package keys

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"revtail/cmd/revtail/keys/keyapi"
)

const (
	// completionTimeout bounds the time that a shell waits for completions.
	completionTimeout = 2 * time.Second
	// maxCompletions bounds how many completions a shell gets.
	maxCompletions = 500
)

// complete completes a key by one level, as a shell completes a path.
func (s *session) complete(cmd *cobra.Command, prefix string) ([]string, cobra.ShellCompDirective) {
	level := prefix[:strings.LastIndexByte(prefix, '/')+1]
	if s.base64 || s.connect(cmd) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	if level == "" {
		level = "/"
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	values := keyapi.Query(level)
	values.Set("depth", "1")
	var out []string
	directive := cobra.ShellCompDirectiveNoFileComp
	_, _, err := s.Pages(ctx, values, maxCompletions, func(_ int64, text json.RawMessage) error {
		var i keyapi.Item
		if err := json.Unmarshal(text, &i); err != nil {
			return err
		}
		if key := i.String(); strings.HasPrefix(key, prefix) && utf8.ValidString(key) && !strings.ContainsAny(key, "\t\n") {
			out = append(out, key)
			if keyapi.IsPrefix(key) {
				directive |= cobra.ShellCompDirectiveNoSpace
			}
		}
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, directive
}
