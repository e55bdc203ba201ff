package main

import (
	"context"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// versusStart compares starts before an etcd with objects, in which the server has stored what it needs, up to the first list.
func versusStart(name, title string, objects int, aspects []aspect) versus {
	return versusRow(name, title, aspects, func(ctx context.Context, s *stage, o *opening, a apiServer) (solo, error) {
		e, revisions, err := a.openEtcd(ctx, s, o, objects, stored)
		if err != nil {
			return solo{}, err
		}
		start := func(ctx context.Context) (sample, error) { return a.startAndList(ctx, s, e, revisions) }
		if _, err := start(ctx); err != nil { // the first start stores it
			return solo{}, err
		}
		return solo{[]*program.Process{e.Process}, start}, nil
	}, nil)
}

// startAndList starts a server, lists the objects and stops it.
func (a apiServer) startAndList(ctx context.Context, s *stage, e *etcd, revisions []int64) (sample, error) {
	begun := time.Now()
	p, err := a.start(ctx, e, tls11)
	if err != nil {
		return nil, err
	}
	defer p.Stop()
	if err := p.untilAnswers(ctx, configMapsURL); err != nil {
		return nil, err
	}
	listed := time.Since(begun)
	used, err := p.CPU()
	if err != nil {
		return nil, err
	}
	_, err = s.keepList(ctx, p.endpoint, revisions)
	return sample{"ready": p.startUp.Seconds(), "list": listed.Seconds(), "cpu": used.Seconds()}, err
}
