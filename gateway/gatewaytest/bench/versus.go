package main

import (
	"context"
	"fmt"
	"math"
)

// revtail is the contender that is the product, built from the working tree.
const revtail = "revtail"

// null is the contender that does the least which a server can do: it sends prepared bytes, or puts to etcd itself.
const null = "null"

// The limits of revtail's cost, as ratios to that of the others.
const (
	mostOfKubernetes = 0.5
	mostOfNull       = 1.5
)

// versus is a row of the comparison of revtail with kube-apiserver and a null server.
type versus struct {
	row
	title   string
	aspects []aspect
}

// aspect is a line of the comparison: a metric of all contenders.
type aspect struct {
	what, metric, unit string
	more               bool // a greater value is better
	// The reasons for which revtail misses the limit beside kube-apiserver, and beside null; empty: it may not.
	besideKubernetes, besideNull string
}

// ratio returns how many times another contender's cost revtail's is.
func (a aspect) ratio(value, other float64) float64 {
	if a.more {
		return other / value
	}
	return value / other
}

// comparison is the result of an aspect: medians, with their spread, and ratios. What was not measured is NaN.
type comparison struct {
	aspect
	title                 string
	own, kubernetes, null spread
	ofKubernetes, ofNull  float64
}

// miss is a limit that revtail misses, and the reason; empty: there is none.
type miss struct{ what, reason string }

func (c comparison) misses() []miss {
	var all []miss
	if c.ofKubernetes > mostOfKubernetes {
		all = append(all, miss{fmt.Sprintf("%s: %s, %s × kube-apiserver", c.title, c.what, number(c.ofKubernetes)), c.besideKubernetes})
	}
	if c.ofNull > mostOfNull {
		all = append(all, miss{fmt.Sprintf("%s: %s, %s × null", c.title, c.what, number(c.ofNull)), c.besideNull})
	}
	return all
}

// spread is a median between the least and the greatest value.
type spread struct{ median, least, most float64 }

// compare returns the comparisons of a row.
func (v versus) compare(r result) []comparison {
	all := make([]comparison, 0, len(v.aspects))
	for _, a := range v.aspects {
		c := comparison{aspect: a, title: v.title,
			own: r.spread(revtail, a.metric), kubernetes: r.spread(kubeAPIServer, a.metric), null: r.spread(null, a.metric)}
		c.ofKubernetes, c.ofNull = a.ratio(c.own.median, c.kubernetes.median), a.ratio(c.own.median, c.null.median)
		all = append(all, c)
	}
	return all
}

// spread returns the median of a contender's rounds, and their extremes.
func (r result) spread(contender, metric string) spread {
	s := spread{r.median(contender, metric), math.Inf(1), math.Inf(-1)}
	for _, one := range r.samples[contender] {
		if v, ok := one[metric]; ok {
			s.least, s.most = min(s.least, v), max(s.most, v)
		}
	}
	return s
}

// openServer prepares a round of an API server, openNull one of the null server.
type (
	openServer func(ctx context.Context, s *stage, o *opening, a apiServer) (solo, error)
	openNull   func(ctx context.Context, s *stage, o *opening) (solo, error)
)

// versusRow compares the API servers, and then the null server; nil: the row has none.
func versusRow(name, title string, aspects []aspect, server openServer, least openNull) versus {
	open := func(ctx context.Context, s *stage) ([]contender, error) {
		o := new(opening)
		for _, a := range s.apiServers() {
			one, err := server(ctx, s, o, a)
			if err == nil {
				err = o.addSolo(a.name, one)
			}
			if err != nil {
				return o.end(err)
			}
		}
		if least == nil {
			return o.end(nil)
		}
		one, err := least(ctx, s, o)
		if err == nil {
			err = o.addSolo(null, one)
		}
		return o.end(err)
	}
	return versus{row: row{name: name, open: open}, title: title, aspects: aspects}
}
