package conformance

import (
	"net/http"
	"strconv"
	"strings"
)

var resources = []statement{
	{"a watch whose client has gone frees its resources", watchesAreFreed},
}

func watchesAreFreed(c *check) {
	const watchers, noise = 300, 100
	before := c.goroutines()
	w := c.simple()
	var streams []*stream
	for range watchers {
		streams = append(streams, w.watchFrom())
	}
	if during := c.goroutines(); during < before+watchers/2 {
		c.NotRun("a watch does not show in go_goroutines (%d, then %d)", before, during)
	}
	for _, s := range streams {
		_ = s.response.Body.Close()
	}
	c.eventually("the goroutines are gone", func() bool { return c.goroutines() < before+noise })
}

// goroutines returns the number at /metrics.
func (c *check) goroutines() int {
	c.t.Helper()
	if a := c.get("/metrics"); a.code == http.StatusOK {
		for line := range strings.Lines(a.body) {
			if value, ok := strings.CutPrefix(line, "go_goroutines "); ok {
				if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
					return n
				}
			}
		}
	}
	c.NotRun("the server does not tell go_goroutines at /metrics")
	return 0
}
