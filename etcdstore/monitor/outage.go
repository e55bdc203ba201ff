package monitor

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"revtail/etcdstore"
)

// outage says in one sentence which endpoints do not answer or have no leader, and which do; "": none. Two outages with the same key are of
// the same endpoints.
func (c Health) outage() (sentence, key string) {
	var down, leaderless, serving, reasons []string
	for _, m := range c.Members {
		switch {
		case m.Err != nil:
			down = append(down, m.Endpoint)
			reasons = append(reasons, fmt.Sprintf("%s (%s)", m.Endpoint, etcdstore.Reason(m.Err)))
		case !m.Leading:
			leaderless = append(leaderless, m.Endpoint)
		default:
			serving = append(serving, m.Endpoint)
		}
	}
	all := len(c.Members)
	verb := map[bool]string{true: "does", false: "do"}[len(down) == 1]
	silent := fmt.Sprintf("%d of %d endpoints %s not answer: %s", len(down), all, verb, strings.Join(reasons, ", "))
	switch {
	case len(down)+len(leaderless) == 0:
		return "", ""
	case len(down) == all:
		sentence = silent + "; writes fail until one does"
	case len(serving) == 0 && len(down) == 0:
		sentence = fmt.Sprintf("%s answers without a leader; writes fail until there is one", strings.Join(leaderless, ", "))
	case len(serving) == 0:
		sentence = fmt.Sprintf("%s; %s without a leader; writes fail until there is one", silent, strings.Join(leaderless, ", "))
	case len(down) == 0:
		sentence = fmt.Sprintf("%d of %d endpoints without a leader: %s; served by %s", len(leaderless), all, strings.Join(leaderless, ", "), strings.Join(serving, ", "))
	default:
		sentence = fmt.Sprintf("%s; served by %s", silent, strings.Join(serving, ", "))
	}
	return "etcd: " + sentence, strings.Join(down, ",") + ";" + strings.Join(leaderless, ",")
}

// outageLog logs the beginning, the changes and the end of an outage, one line each.
type outageLog struct {
	logger *slog.Logger
	key    string // of the outage; "": none
	since  time.Time
}

func (l *outageLog) report(ctx context.Context, c Health) {
	sentence, key := c.outage()
	switch key {
	case l.key:
	case "":
		l.logger.Info("etcd: all endpoints answer again", "endpoints", len(c.Members), "after", time.Since(l.since).Round(time.Second).String())
	default:
		if l.key == "" {
			l.since = time.Now()
		}
		l.logger.WarnContext(ctx, sentence) //nolint:sloglint // a sentence for the operator, with the endpoints
	}
	l.key = key
}
