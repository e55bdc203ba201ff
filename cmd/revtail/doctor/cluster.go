package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"revtail/etcdstore"
)

// checkCluster checks the data of a kube-apiserver.
func (d *doctor) checkCluster(ctx context.Context) {
	d.checkRights(ctx)
	d.checkCompaction(ctx)
	d.checkValues(ctx)
}

// checkRights reports whether the user of etcd may write. It reads etcd's tables of users and roles.
func (d *doctor) checkRights(ctx context.Context) {
	const hint = "create a user that may only read /registry/ and revtail/, for --etcd-user: see deploy/CLUSTER.md"
	user := d.etcdUser()
	rights, err := d.store.Rights(ctx, user)
	prefixes := make([]string, 0, len(rights.Writable))
	for _, prefix := range rights.Writable {
		if prefix == "" {
			prefix = "every key"
		}
		prefixes = append(prefixes, prefix)
	}
	switch {
	case err != nil:
		d.report(skipped, "rights", fmt.Sprintf("whether the user %q of etcd can write is not known: %s", user, etcdstore.Reason(err)), "")
	case !rights.Authentication:
		d.report(warning, "rights", "etcd has no authentication: everybody who reaches it can write. revtail never does", hint)
	case len(prefixes) > 0:
		d.report(warning, "rights", fmt.Sprintf("the user %q of etcd can write %s. revtail never does", user, strings.Join(prefixes, ", ")), hint)
	default:
		d.report(ok, "rights", fmt.Sprintf("the user %q of etcd can only read", user), "")
	}
}

// etcdUser returns the name by which etcd knows this program: --etcd-user, or the common name of the certificate.
func (d *doctor) etcdUser() string {
	if d.cfg.EtcdUser != "" || d.cfg.EtcdCert == "" {
		return d.cfg.EtcdUser
	}
	pair, err := tls.LoadX509KeyPair(d.cfg.EtcdCert, d.cfg.EtcdKey)
	if err != nil {
		return "" // checkCertificates has the error
	}
	certificate, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return ""
	}
	return certificate.Subject.CommonName
}

// compactRevKey holds the revision up to which a kube-apiserver has compacted etcd.
const compactRevKey = "compact_rev_key"

// checkCompaction reports how often the kube-apiserver compacts. It removes, in each round, what was older than the round before.
func (d *doctor) checkCompaction(ctx context.Context) {
	const hint = "the kube-apiserver compacts once in --etcd-compaction-interval, 5m by default, unless that is 0"
	mark, _, err := d.store.Get(ctx, compactRevKey)
	switch {
	case errors.Is(err, etcdstore.ErrNotFound):
		d.report(warning, "compacts", "no kube-apiserver has compacted this etcd yet", hint)
		return
	case errors.Is(err, etcdstore.ErrDenied):
		d.report(skipped, "compacts", "the user of etcd may not read the key "+compactRevKey, "")
		return
	case err != nil:
		d.report(failed, "compacts", err.Error(), "")
		return
	}
	summary := fmt.Sprintf("the kube-apiserver has compacted %d times, the last time %d revisions ago", mark.Version-1, max(0, d.revision-mark.Modified))
	before, err := strconv.ParseInt(string(mark.Value), 10, 64)
	if err != nil {
		d.report(warning, "compacts", fmt.Sprintf("the key %s is %.40q, which no kube-apiserver writes", compactRevKey, mark.Value), "")
		return
	}
	if before == 0 { // the first round only marks
		d.report(ok, "compacts", "a kube-apiserver is to compact this etcd, and has not done so yet", "")
		return
	}
	from, until := d.timeAt(ctx, etcdstore.Revision(before)), d.timeAt(ctx, mark.Modified)
	if !from.IsZero() && !until.IsZero() {
		summary += "; it keeps " + formatHistory(until.Sub(from)) + " of history for watches"
	}
	d.report(ok, "compacts", summary, "")
}

// timeAt returns when a revision was the newest one, by a Lease that each kube-apiserver renews every ten seconds; zero: that is not known.
func (d *doctor) timeAt(ctx context.Context, revision etcdstore.Revision) (newest time.Time) {
	page, err := d.store.List(ctx, d.cfg.EtcdPrefix+"/leases/kube-system/apiserver-", etcdstore.ListOptions{At: revision, Limit: 10})
	if err != nil {
		return newest
	}
	for _, kv := range page.KVs {
		value, err := layout()["leases"].decode(kv.Value)
		var lease struct{ Spec struct{ RenewTime time.Time } }
		if err == nil && json.Unmarshal(value, &lease) == nil && lease.Spec.RenewTime.After(newest) {
			newest = lease.Spec.RenewTime
		}
	}
	return newest
}

// renewInterval is the time between two renewals of the Lease of a kube-apiserver, which timeAt cannot tell apart.
const renewInterval = 10 * time.Second

func formatHistory(kept time.Duration) string {
	if kept < renewInterval {
		return fmt.Sprintf("less than %v", 2*renewInterval)
	}
	return fmt.Sprintf("about %v", kept.Round(time.Second))
}
