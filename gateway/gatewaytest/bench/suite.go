package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// stage is the environment of the rows: programs, a folder, and the amount of work.
type stage struct {
	products    []subject // the gateways to compare: one, or two of different commits
	withPeers   bool
	etcdProgram string
	// kubeAPIServerProgram is empty unless revtail is compared with it.
	kubeAPIServerProgram string
	self                 string // this program, which runs the peers too
	dir                  string
	certificate          *program.Certificate
	size                 size
	rounds               int
	progress             io.Writer
}

// subject is a build of the product.
type subject struct{ name, binary string }

// row is a part of the benchmark that is measured together, on the same contenders.
type row struct {
	name    string
	figures []figure
	// open prepares the contenders. Their close is called in any case.
	open func(ctx context.Context, s *stage) ([]contender, error)
	// times is the factor of the number of rounds, for rows with short rounds. Zero: one.
	times int
}

// often gives a row three times as many rounds, because they are short.
func (r row) often() row {
	r.times = 3
	return r
}

// contender is the product, or a peer.
type contender struct {
	name  string
	run   func(ctx context.Context) (sample, error) // one round
	close func()
	once  bool // for information: one round is enough
}

// sample is the result of one round of a contender: metrics by name.
type sample map[string]float64

// result is the result of a row after all its rounds.
type result struct {
	row     row
	samples map[string][]sample // by contender, in the order of rounds
	err     error               // of a check, or of the measurement; notMeasured: neither
}

// median returns the median of a metric over a contender's rounds; NaN: it has none.
func (r result) median(contender, metric string) float64 {
	var values []float64
	for _, s := range r.samples[contender] {
		if v, ok := s[metric]; ok {
			values = append(values, v)
		}
	}
	return median(values)
}

// failed reports whether a check failed, or the measurement did.
func (r result) failed() bool {
	var why notMeasured
	return r.err != nil && !errors.As(r.err, &why)
}

// measure runs a row: all contenders in turn, round after round, so that other load on the machine affects all alike.
func (s *stage) measure(ctx context.Context, r row) result {
	res := result{row: r, samples: map[string][]sample{}}
	start := time.Now()
	contenders, err := r.open(ctx, s)
	defer func() {
		for _, c := range contenders {
			c.close()
		}
	}()
	rounds := s.rounds * max(1, r.times)
	for round := 0; round < rounds && err == nil; round++ {
		for _, c := range contenders {
			if err != nil || c.once && round > 0 {
				continue
			}
			var got sample
			if got, err = c.run(ctx); err != nil {
				err = fmt.Errorf("%s: %w", c.name, err)
				continue
			}
			res.samples[c.name] = append(res.samples[c.name], got)
			s.say("%s %d/%d, %s: %s", r.name, round+1, rounds, c.name, got)
		}
	}
	res.err = err
	switch {
	case err != nil && !res.failed():
		s.say("%s: %v", r.name, err)
	case err != nil:
		s.say("%s FAILED: %s", r.name, firstLine(err.Error()))
	default:
		s.say("%s took %v", r.name, time.Since(start).Round(time.Millisecond))
	}
	return res
}

// say prints a line of progress.
func (s *stage) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.progress, "%s "+format+"\n", append([]any{time.Now().Format("15:04:05")}, args...)...) // an error does not matter
}

// opening collects contenders, and the resources to close when they cannot all be opened.
type opening struct {
	contenders []contender
	closers    []func()
}

// own closes a resource with the next contender, or when the opening fails.
func (o *opening) own(closer func()) { o.closers = append(o.closers, closer) }

// add adds a contender. Resources owned since the last contender are closed with it.
func (o *opening) add(c contender) {
	closers := o.closers
	o.closers = nil
	c.close = func() { closeAll(closers) }
	o.contenders = append(o.contenders, c)
}

// end returns the contenders, and closes the resources that belong to none of them.
func (o *opening) end(err error) ([]contender, error) {
	closeAll(o.closers)
	return o.contenders, err
}

// closeAll closes in reverse order.
func closeAll(closers []func()) {
	for i := len(closers) - 1; i >= 0; i-- {
		closers[i]()
	}
}

// newStage makes the folder of a run. Close removes it.
func newStage(progress io.Writer) (*stage, error) {
	dir, err := os.MkdirTemp("", "revtail-bench-")
	if err != nil {
		return nil, err
	}
	s := &stage{dir: dir, progress: progress, withPeers: true, rounds: 3, size: fullSize()}
	if s.certificate, err = program.NewCertificate(dir); err == nil {
		s.self, err = os.Executable()
	}
	return s, err
}

func (s *stage) close() { _ = os.RemoveAll(s.dir) }
