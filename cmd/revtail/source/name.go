package source

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"revtail/cmd/revtail/offline"
)

// Usage says how a source is written.
const Usage = "want a file as backup.db, a server as http://127.0.0.1:8080, or live for that of --server; with a revision as backup.db@4711"

// live is the server of the flags.
const live = "live"

// Name is an argument that names a source: FILE, URL or live, and a revision or a time after an @.
type Name struct {
	Text     string // as it was given
	place    string // a file, the URL of a server, or live
	revision int64  // zero: the newest
	at       string // a time; empty: none
}

// Live returns the name of the server of the flags, as it was at a moment: a revision or, if that is zero, a time; neither: as it is now.
func Live(revision int64, at string) Name {
	out := Name{Text: live, place: live, revision: revision}
	switch {
	case revision != 0:
		out.Text += "@" + strconv.FormatInt(revision, 10)
	case at != "":
		out.Text, out.at = live+"@"+at, at
	}
	return out
}

// ParseName reads an argument. A file whose name has an @ is that file, if it exists.
func ParseName(text string) (Name, error) {
	out := Name{Text: text, place: text}
	if text == "" {
		return out, errors.New("a source is empty: " + Usage)
	}
	i := strings.LastIndexByte(text, '@')
	if i < 0 {
		return out, nil
	}
	if _, err := os.Stat(text); err == nil && !out.isServer() {
		return out, nil
	}
	place, at := text[:i], text[i+1:]
	if place == "" || strings.Contains(at, "/") {
		return out, fmt.Errorf("%s: %s", text, Usage)
	}
	out.place = place
	revision, err := strconv.ParseInt(at, 10, 64)
	if err == nil && revision > 0 {
		out.revision = revision
		return out, nil
	}
	if !isTime(at) {
		return out, fmt.Errorf("%s: want a revision after the @, as %s@4711, or of a server or a journal a time, as @2026-11-21T10:00:00Z or @-10m", text, place)
	}
	if out.at = at; !out.isServer() && !offline.HasTimes(place) {
		return out, fmt.Errorf("%s: a file of an etcd does not have the times of its revisions: want a revision after the @, as %s@4711", text, place)
	}
	return out, nil
}

// isServer reports whether the place is a server.
func (n Name) isServer() bool {
	for _, scheme := range []string{"http://", "https://", "unix://"} {
		if strings.HasPrefix(n.place, scheme) {
			return true
		}
	}
	return n.place == live
}

// isTime reports whether a text is a time, or a duration before now.
func isTime(text string) bool {
	if ago, found := strings.CutPrefix(text, "-"); found {
		_, err := time.ParseDuration(ago)
		return err == nil
	}
	_, err := time.Parse(time.RFC3339, text)
	return err == nil
}
