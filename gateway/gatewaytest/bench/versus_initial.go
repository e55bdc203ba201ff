package main

import (
	"context"
	"os"
	"path/filepath"

	"revtail/gateway/gatewaytest/program"
)

// versusInitial compares initial events: watches that request the whole state first.
func versusInitial(name, title string, watchers, objects int, aspects []aspect) versus {
	file := func(s *stage) string { return filepath.Join(s.dir, "state.json") }
	var want sequence // of revtail, whose bytes the null server sends
	var size int64
	return versusRow(name, title, aspects, func(ctx context.Context, s *stage, o *opening, a apiServer) (solo, error) {
		v, err := a.open(ctx, s, o, tls11, objects, stored)
		if err != nil {
			return solo{}, err
		}
		state, err := readState(ctx, v.endpoint)
		if err != nil {
			return solo{}, err
		}
		st := &states{server: v.Process, endpoint: v.endpoint, watchers: watchers, bytes: int64(len(state)), want: sequenceOf(v.revisions)}
		want, size = st.want, st.bytes
		return v.alone(st.run), os.WriteFile(file(s), state, 0o600)
	}, func(ctx context.Context, s *stage, o *opening) (solo, error) {
		p, err := s.openPrepared(ctx, o, tls11, file(s))
		if err != nil {
			return solo{}, err
		}
		st := &states{server: p.Process, endpoint: p.endpoint, watchers: watchers, bytes: size, want: want}
		return solo{[]*program.Process{p.Process}, st.run}, nil
	})
}
