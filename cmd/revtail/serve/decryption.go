package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/etcdstore/encryption"
)

// decryption knows which resources have values that cannot be decrypted.
type decryption struct {
	store     *encryption.Store
	providers func() *encryption.Providers
	cluster   bool // the values are a kube-apiserver's, and a cache is filled by the first request for its resource

	probed atomic.Pointer[encryption.Providers] // those with which one value of each resource was read; nil: none yet
}

// decryptionInterval is the interval at which values that cannot be decrypted are read again, one of each resource.
const decryptionInterval = time.Second

// checkDecryption finds the values that cannot be decrypted until ctx ends. It reads one value of each resource at the start and for each
// new configuration; besides it only reads again what has failed.
func (p *process) checkDecryption(ctx context.Context) error {
	if p.gateway.WaitReady(ctx) != nil {
		return nil //nolint:nilerr // the process ends
	}
	for tick := time.Tick(decryptionInterval); ; {
		if now := p.decryption.providers(); p.decryption.probed.Load() != now {
			p.probe(ctx, now)
		} else {
			p.decryption.store.Recheck(ctx)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

// probe reads one value of each resource with providers.
func (p *process) probe(ctx context.Context, with *encryption.Providers) {
	if err := p.gateway.Probe(ctx); err != nil {
		p.logger.Debug("whether values can be decrypted is not known yet", "error", err)
		return
	}
	p.decryption.store.Recheck(ctx)
	p.decryption.probed.Store(with)
	for _, failure := range p.decryption.store.Failures() {
		p.logger.Warn("values of a resource cannot be decrypted: requests for them get 500", "resource", failure.Resource.String(), "reason", failure.Err)
	}
}

// problems returns a sentence about each resource with values that cannot be decrypted. It names no object, because anybody may read /readyz.
func (d *decryption) problems() (out []string) {
	for _, failure := range d.store.Failures() {
		out = append(out, fmt.Sprintf("a value of %s cannot be decrypted: %s", failure.Resource, failure.Err.Reason))
	}
	return out
}

var errNotProbed = errors.New("one value of each resource is still to be read")

// failureOfCluster returns why the gateway is not ready to serve the values of a cluster; nil: they are its own, and other values can be served.
func (d *decryption) failureOfCluster() func() error {
	if d == nil || !d.cluster {
		return nil
	}
	return func() error {
		if problems := d.problems(); len(problems) > 0 {
			return errors.New(strings.Join(problems, "; "))
		}
		if d.probed.Load() == nil {
			return errNotProbed
		}
		return nil
	}
}

var decryptionFailing = prometheus.NewDesc("revtail_decryption_failing", "1 while a value of the resource is known that no provider of --encryption-provider-config decrypts.",
	[]string{"resource"}, nil)

// Describe implements prometheus.Collector.
func (d *decryption) Describe(out chan<- *prometheus.Desc) { out <- decryptionFailing }

// Collect implements prometheus.Collector.
func (d *decryption) Collect(out chan<- prometheus.Metric) {
	for _, failure := range d.store.Failures() {
		out <- prometheus.MustNewConstMetric(decryptionFailing, prometheus.GaugeValue, 1, failure.Resource.String())
	}
}
