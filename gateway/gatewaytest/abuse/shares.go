package abuse

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// shareAttacks take the places that users share: watches, ranges of keys, requests in flight, memory for responses, writes.
var shareAttacks = []attack{
	{name: "watches", run: func(ctx context.Context, s *scene) string {
		c := openCrowd(ctx, s, 1200, func(int) string { return attackerPath + "?watch" })
		wait(ctx, 2*time.Second)
		return fmt.Sprintf("1200 watches, %d open", c.open)
	}},
	{name: "ranges of keys", also: watchAKey, run: func(ctx context.Context, s *scene) string {
		c := openCrowd(ctx, s, 1200, func(i int) string { return fmt.Sprintf("/v1/keys/app/attacker/%d?watch", i) })
		wait(ctx, 5*time.Second)
		return fmt.Sprintf("1200 ranges, %d open", c.open)
	}},
	{name: "requests in flight", prepare: manyObjects, also: listObjects, run: func(ctx context.Context, s *scene) string {
		n := parallel(ctx, 300, 20, func(int) { s.do(ctx, http.MethodGet, attackerPath+"?fieldSelector=data.n!=1", "") })
		return fmt.Sprintf("%d lists, 300 at a time", n)
	}},
	{name: "writes", also: listObjects, run: func(ctx context.Context, s *scene) string {
		n := parallel(ctx, 300, 40, func(i int) {
			s.do(ctx, http.MethodPut, fmt.Sprintf("/v1/keys/app/attacker/%d", i%1000), `"text"`)
		})
		return fmt.Sprintf("%d writes, 300 at a time", n)
	}},
	{name: "unread responses", prepare: largeKeys, also: readAKey, memory: 512, run: func(ctx context.Context, s *scene) string {
		var unread []io.Closer
		for range 64 {
			bounded, cancel := context.WithTimeout(ctx, 5*time.Second) // a request may wait for its place
			resp, err := open(bounded, s.gateway, "/v1/keys/app/large/")
			if err != nil {
				cancel()
				continue
			}
			s.codes.count(resp.StatusCode)
			unread = append(unread, closer{resp.Body, cancel})
			if ctx.Err() != nil {
				break
			}
		}
		wait(ctx, 3*time.Second)
		for _, o := range unread {
			_ = o.Close() // the client ends it
		}
		return fmt.Sprintf("%d responses of 16 MiB, unread", len(unread))
	}},
}

// watchAKey is a new watch of a key by the victim.
func watchAKey(ctx context.Context, s *scene, n int) error {
	bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	resp, err := open(bounded, s.victim, fmt.Sprintf("/v1/keys/app/victim/%d?watch", n%50))
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the client ends it
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the victim's watch of a key: %s", resp.Status)
	}
	return nil
}

func listObjects(ctx context.Context, s *scene, _ int) error {
	answer, err := s.victim.Try(ctx, http.MethodGet, victimPath, "")
	if err == nil && answer.Code != http.StatusOK {
		err = fmt.Errorf("the victim's list: %d %.200s", answer.Code, answer.Body)
	}
	return err
}

func readAKey(ctx context.Context, s *scene, _ int) error {
	answer, err := s.victim.Try(ctx, http.MethodGet, "/v1/keys/app/large/0", "")
	if err == nil && answer.Code != http.StatusOK {
		err = fmt.Errorf("the victim's key: %d %.200s", answer.Code, answer.Body)
	}
	return err
}

// largeKeys are 16 MiB below a prefix.
func largeKeys(s *scene) {
	text := fmt.Sprintf("%q", strings.Repeat("x", 1<<20))
	for i := range 16 {
		if answer := s.gateway.Do(s, http.MethodPut, fmt.Sprintf("/v1/keys/app/large/%d", i), text); answer.Code >= http.StatusMultipleChoices {
			s.Fatalf("a large key: %d %.300s", answer.Code, answer.Body)
		}
	}
}

// closer ends a response and its context.
type closer struct {
	io.Closer
	cancel context.CancelFunc
}

func (c closer) Close() error {
	defer c.cancel()
	return c.Closer.Close()
}
