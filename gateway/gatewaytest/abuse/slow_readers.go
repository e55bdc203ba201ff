package abuse

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"
)

// slowReaders is the attack of clients that each read another state of large objects, and take almost nothing of it. The states share no memory,
// because all objects are written in between.
var slowReaders = attack{name: "slow readers", prepare: largeObjects, beside: true, memory: 600, time: 3 * time.Minute, run: func(ctx context.Context, s *scene) string {
	const states = 12
	var lists, watches []*slowReader
	for n := range states {
		lists = append(lists, s.readSlowly(ctx, ""))
		watches = append(watches, s.readSlowly(ctx, "?watch&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"))
		writeLargeObjects(ctx, s, n+1)
		for _, r := range slices.Concat(lists, watches) {
			r.readSome()
		}
	}
	broken, ended := 0, 0
	for _, r := range lists {
		if err := r.readList(); err != nil {
			broken++
		} else if count := bytes.Count(r.text, []byte(`"text":"`)); count != largeCount {
			s.Errorf("a list of %d objects ends cleanly, want %d", count, largeCount)
		}
	}
	for _, r := range watches {
		if r.readInitialEvents() {
			continue
		}
		if ended++; !bytes.Contains(r.text, []byte("read too slowly")) {
			s.Errorf("the watch %d ended without a word: %v", ended, r.err)
		}
	}
	const atLeast = states / 3 // the others may be in memory: the bound is 256 MiB
	if broken < atLeast || ended < atLeast {
		s.Errorf("%d of %d lists were broken, and %d watches ended with an error, want %d at least", broken, states, ended, atLeast)
	}
	return fmt.Sprintf("a list and a watch of %d states of 53 MB, %d and %d broken", states, broken, ended)
}}

const largeCount = 100

func largeObjects(s *scene) { writeLargeObjects(s.Context(), s, 0) }

func writeLargeObjects(ctx context.Context, s *scene, n int) {
	parallel(ctx, 4, largeCount/4, func(i int) {
		name := fmt.Sprintf("large-%d", i)
		if n == 0 {
			s.do(ctx, http.MethodPost, attackerPath, configMap(name, large(n)))
		} else {
			s.do(ctx, http.MethodPut, attackerPath+"/"+name, configMap(name, large(n)))
		}
	})
}

// slowReader is a client that takes little of its response.
type slowReader struct {
	body io.ReadCloser
	text []byte
	err  error
}

// readSlowly sends a request, and returns its response when the header has come.
func (s *scene) readSlowly(ctx context.Context, query string) *slowReader {
	s.Helper()
	resp, err := open(ctx, s.gateway, attackerPath+query)
	if err != nil {
		s.Fatal(err)
	}
	s.codes.count(resp.StatusCode)
	return &slowReader{body: resp.Body}
}

// readSome takes enough that the client does not count as one that takes nothing.
func (r *slowReader) readSome() {
	piece := make([]byte, 64<<10)
	n, err := io.ReadFull(r.body, piece)
	r.text, r.err = append(r.text, piece[:n]...), cmp.Or(r.err, err)
}

// readList reads the rest. The error says that the response was broken.
func (r *slowReader) readList() error {
	defer func() { _ = r.body.Close() }() // it was read
	rest, err := io.ReadAll(r.body)
	r.text, r.err = append(r.text, rest...), cmp.Or(r.err, err)
	return r.err
}

// readInitialEvents reads until the initial events or the watch have ended, and reports whether the initial events are complete.
func (r *slowReader) readInitialEvents() bool {
	defer func() { _ = r.body.Close() }() // the client ends it
	for r.err == nil {
		r.readSome()
		if end := r.text[max(0, len(r.text)-128<<10):]; bytes.Contains(end, []byte(`"k8s.io/initial-events-end":"true"`)) {
			return true
		}
	}
	return false
}
