package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"revtail/gateway/gatewaytest/program"
)

// initialEvents are watches that request the state first.
const initialEvents = configMapsURL + "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

// states is a server from which many clients read the whole state at once.
type states struct {
	server   *program.Process
	endpoint endpoint
	watchers int
	bytes    int64 // of the state
	want     sequence
}

// run opens the watches and waits until each has the state.
func (st *states) run(ctx context.Context) (sample, error) {
	resident, err := st.server.Resident()
	if err != nil {
		return nil, err
	}
	if err := st.server.ForgetPeak(); err != nil {
		return nil, err
	}
	before, err := st.server.CPU()
	if err != nil {
		return nil, err
	}
	f, err := openFleet(ctx, st.endpoint, watches{count: st.watchers, path: func(int) string { return initialEvents }, state: true})
	if err != nil {
		return nil, err
	}
	defer f.close()
	took, err := f.awaitStates()
	if err != nil {
		return nil, err
	}
	after, err := st.server.CPU()
	if err != nil {
		return nil, err
	}
	for i, w := range f.watchers {
		if err := w.checkState(st.want); err != nil {
			return nil, fmt.Errorf("watcher %d: %w", i, err)
		}
	}
	peak, err := st.server.Peak()
	objects := float64(st.want.count) * float64(st.watchers)
	return sample{
		"rate": float64(st.bytes) * float64(st.watchers) / took.Seconds() / 1e6, "events": objects / took.Seconds(),
		"cpu": (after - before).Seconds() * 1e6 / objects, "extra": float64(peak-resident) / (1 << 20),
	}, err
}

// initialRow compares initial events with the same bytes from memory.
func initialRow(figures []figure) row {
	return row{name: "initial", figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		watchers, objects := s.size.initial[0], s.size.initial[1]
		e, revisions, err := s.openStored(ctx, o, objects)
		if err != nil {
			return o.end(err)
		}
		add := func(name string, server *program.Process, at endpoint, bytes int) {
			st := &states{server: server, endpoint: at, watchers: watchers, bytes: int64(bytes), want: sequenceOf(revisions)}
			o.add(contender{name: name, run: st.run})
		}
		var state []byte
		for _, product := range s.products {
			p, failed := s.openProduct(ctx, o, product.binary, e, plain)
			if failed != nil {
				return o.end(failed)
			}
			if state, err = readState(ctx, p.endpoint); err != nil {
				return o.end(err)
			}
			add(product.name, p.Process, p.endpoint, len(state))
		}
		if !s.withPeers {
			return o.end(nil)
		}
		file := filepath.Join(s.dir, "state.json")
		if err := os.WriteFile(file, state, 0o600); err != nil {
			return o.end(err)
		}
		p, err := s.openPrepared(ctx, o, plain, file)
		if err != nil {
			return o.end(err)
		}
		add(prepared, p.Process, p.endpoint, len(state))
		return o.end(nil)
	}}
}

// readState reads initial events up to the bookmark that ends them.
func readState(ctx context.Context, e endpoint) ([]byte, error) {
	c, err := dial(ctx, e)
	if err != nil {
		return nil, err
	}
	defer c.close()
	a, err := c.send("GET", initialEvents+"&timeoutSeconds=2", nil)
	if err != nil {
		return nil, err
	}
	end := bytes.Index(a.body, []byte(`"k8s.io/initial-events-end":"true"`))
	if end < 0 {
		return nil, fmt.Errorf("no bookmark ends the initial events: %.300s", a.body)
	}
	return a.body[:end+bytes.IndexByte(a.body[end:], '\n')+1], nil
}
