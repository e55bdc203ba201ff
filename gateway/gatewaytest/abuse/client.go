package abuse

import (
	"bufio"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// tokenOf returns the token of a user.
func tokenOf(user string) string { return "token-of-" + user }

// writeTokens writes a token file.
func writeTokens(t *testing.T, users ...string) string {
	t.Helper()
	content := "apiVersion: revtail/v1\ntokens:\n"
	for _, user := range users {
		content += fmt.Sprintf("- {user: %s, sha256: %x}\n", user, sha256.Sum256([]byte(tokenOf(user))))
	}
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// wait waits for a time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// revisionOf returns the resourceVersion of an object.
func revisionOf(s *scene, path string) string {
	s.Helper()
	return s.victim.Get(s, path).Metadata.ResourceVersion
}

// codes counts the codes of responses.
type codes struct {
	mu  sync.Mutex // guards the field below
	per map[int]int
}

func (c *codes) count(code int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.per == nil {
		c.per = make(map[int]int)
	}
	c.per[code]++
}

func (c *codes) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, code := range slices.Sorted(maps.Keys(c.per)) {
		out = append(out, fmt.Sprintf("%d×%d", c.per[code], code))
	}
	return strings.Join(out, " ")
}

// open sends a GET request, and returns its response.
func open(ctx context.Context, g *gatewaytest.Gateway, path string, header ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+g.Token)
	r.Header.Set("Accept-Encoding", "identity")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return streams.Do(r)
}

// streams makes a connection for each stream.
var streams = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ReadBufferSize: 1 << 10, WriteBufferSize: 1 << 10}}

// followLines opens a watch and sends its lines. The channel is closed when the watch ends.
func followLines(ctx context.Context, g *gatewaytest.Gateway, path string) <-chan string {
	lines := make(chan string, 64)
	go func() {
		defer close(lines)
		resp, err := open(ctx, g, path)
		if err != nil {
			return
		}
		defer func() { _ = resp.Body.Close() }() // the client ends it
		for r := bufio.NewReader(resp.Body); ; {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// crowd is many watches of the attacker.
type crowd struct {
	done sync.WaitGroup

	mu     sync.Mutex // guards the fields below
	open   int
	events int // lines of all watches, bookmarks and errors left out
	errors []string
}

// openCrowd opens watches, and returns when all are open or refused.
func openCrowd(ctx context.Context, s *scene, count int, path func(i int) string, header ...string) *crowd {
	c := new(crowd)
	var opening sync.WaitGroup
	places := make(chan struct{}, 32)
	for i := range count {
		opening.Add(1)
		c.done.Go(func() {
			places <- struct{}{}
			resp, err := open(ctx, s.gateway, path(i), header...)
			<-places
			opening.Done()
			if err != nil {
				return
			}
			defer func() { _ = resp.Body.Close() }() // the client ends it
			s.codes.count(resp.StatusCode)
			if resp.StatusCode == http.StatusOK {
				c.follow(resp.Body)
			}
		})
	}
	opening.Wait()
	return c
}

func (c *crowd) follow(body io.Reader) {
	c.mu.Lock()
	c.open++
	c.mu.Unlock()
	for r := bufio.NewReaderSize(body, 4<<10); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		c.mu.Lock()
		switch {
		case strings.HasPrefix(line, `{"type":"ERROR"`):
			c.errors = append(c.errors, line)
		case !strings.HasPrefix(line, `{"type":"BOOKMARK"`):
			c.events++
		}
		c.mu.Unlock()
	}
}

// await waits until the watches have a number of events, or one has an error, or ctx ends. It returns both numbers.
func (c *crowd) await(ctx context.Context, events int) (got, errors int) {
	for {
		c.mu.Lock()
		got, errors = c.events, len(c.errors)
		c.mu.Unlock()
		if got >= events || ctx.Err() != nil {
			return got, errors
		}
		wait(ctx, 10*time.Millisecond)
	}
}
