package main

import (
	"context"
	"fmt"
	"os"
)

// withoutJournal is the contender that keeps no journal.
const withoutJournal = "without a journal"

// journalRow compares writes through a gateway that keeps a journal with those through one that keeps none, over the same etcd.
func journalRow(kind writeKind, figures []figure) row {
	return row{name: string(kind) + "-journal", figures: figures, open: func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		e, err := s.startEtcd(ctx)
		if err != nil {
			return o.end(err)
		}
		o.own(e.close)
		add := func(name, binary string, flags ...string) error {
			prefix := fmt.Sprintf("/registry%d", len(o.contenders))
			p, err := s.openProduct(ctx, o, binary, e, plain, append(flags, "--etcd-prefix", prefix)...)
			if err != nil {
				return err
			}
			w, err := s.openWriting(ctx, o, p, e, kind, prefix)
			if err != nil {
				return err
			}
			o.add(writingContender(name, w, s.size.writes))
			return nil
		}
		for _, product := range s.products {
			dir, err := os.MkdirTemp(s.dir, "journal-")
			if err == nil {
				err = add(product.name, product.binary, "--history-dir", dir)
			}
			if err != nil {
				return o.end(err)
			}
		}
		if s.withPeers {
			return o.end(add(withoutJournal, s.products[0].binary))
		}
		return o.end(nil)
	}}
}

func journalFigures(kind writeKind) []figure {
	return []figure{
		{string(kind) + " with a journal, 64 writers: CPU a write, gateway and etcd", "cpu", "µs", goal{ratioMost: 1.15}, withoutJournal},
		{"  writes", "rate", "/s", goal{}, withoutJournal},
		{"  p50 of one writer alone", "p50", "ms", goal{}, withoutJournal},
	}
}
