package eventloop

import (
	"io"
	"testing"

	"revtail/etcdstore"
	"revtail/gateway/gatewaytest/rawhttp"
	"revtail/gateway/netio/socket"
	"revtail/gateway/watchcache"
)

// brokenEncoder panics at the first event.
type brokenEncoder struct{ testEncoder }

func (brokenEncoder) Event([]byte, watchcache.Change, bool) []byte { panic("meant by a test") }

// TestPanicBreaksTheStream checks that a client does not mistake the events before a panic for a complete stream, and that the watch leaves
// nothing behind.
func TestPanicBreaksTheStream(t *testing.T) {
	overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
		s.encoder = brokenEncoder{}
		_, body := s.watchFrom(s.create("first"), "")
		s.create("second")
		if got, err := io.ReadAll(body); err == nil {
			t.Errorf("the client took %q for complete", got)
		}
		rawhttp.Await(t, "the watch to be gone", func() bool { return s.open() == 0 && s.cache.Stats().Watchers == 0 })
	})
}

// brokenBookmarks panics at the first bookmark.
type brokenBookmarks struct{ testEncoder }

func (brokenBookmarks) Bookmark([]byte, etcdstore.Revision, bool) []byte { panic("meant by a test") }

// TestPanicOfABookmarkBreaksTheStream checks that the loop also recovers from a panic outside of a delivery, and serves its other clients.
func TestPanicOfABookmarkBreaksTheStream(t *testing.T) {
	overAll(t, socket.WriteTimeout, func(t *testing.T, s *loopServer) {
		revision := s.create("first")
		s.encoder = brokenBookmarks{}
		_, body := s.watchFrom(revision, "&allowWatchBookmarks=true")
		if err := s.watches.Registry.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(body); err == nil {
			t.Errorf("the client took %q for complete", got)
		}
		rawhttp.Await(t, "the watch to be gone", func() bool { return s.open() == 0 && s.cache.Stats().Watchers == 0 })
	})
}
