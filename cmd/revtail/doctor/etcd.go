package doctor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"revtail/cmd/revtail/backend"
	"revtail/etcdstore"
)

const (
	// connectTimeout bounds the first linearizable read. A host in the same network needs 1/100 of it.
	connectTimeout = 5 * time.Second
	// statusTimeout bounds the status requests to the members after connectTimeout.
	statusTimeout = 2 * time.Second
	// slowRead is the time of a linearizable read that points to a slow disk or network.
	slowRead = 100 * time.Millisecond
)

func (d *doctor) checkEtcd(ctx context.Context) {
	endpoints := d.cfg.EtcdEndpoints
	if !d.cfg.External() {
		endpoints = []string{backend.EmbeddedEndpoint(d.cfg)}
		d.cfg.EtcdEndpoints = endpoints // the checks treat it as an external etcd
	}
	store, err := d.openEtcd()
	if err != nil {
		d.report(failed, "etcd", err.Error(), "")
		return
	}
	connecting, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	start := time.Now()
	d.store = store
	if err := store.Await(connecting); err != nil {
		d.reportUnreachable(ctx, err)
		d.store = nil
		_ = store.Close()
		return
	}
	d.report(ok, "etcd", fmt.Sprintf("%s answers a linearizable read, so there is a quorum (%v)", strings.Join(endpoints, ", "), elapsed(start)), "")
	d.checkSpeed(ctx)
	d.checkMembers(ctx)
	d.checkAlarms(ctx)
	d.checkHistory(ctx)
	d.checkClaim(ctx)
	if d.cfg.Cluster {
		d.checkCluster(ctx)
	} else {
		d.checkContent(ctx)
	}
}

func (d *doctor) openEtcd() (*etcdstore.Etcd, error) {
	logger := slog.New(slog.DiscardHandler)
	tlsConfig, err := d.cfg.OpenEtcdTLS(logger)
	if err != nil {
		return nil, err
	}
	password, err := d.cfg.OpenEtcdPassword(logger)
	if err != nil {
		return nil, err
	}
	return etcdstore.Open(backend.Access(backend.Options{Config: d.cfg, TLS: tlsConfig, Password: password}))
}

func (d *doctor) reportUnreachable(ctx context.Context, err error) {
	endpoints := strings.Join(d.cfg.EtcdEndpoints, ", ")
	if errors.Is(err, etcdstore.ErrDenied) {
		hint := "check --etcd-user, --etcd-password-file and --etcd-cert"
		if user := d.etcdUser(); user != "" {
			hint += fmt.Sprintf(": the user %q must exist in etcd, and may read %s/ and revtail/", user, d.cfg.EtcdPrefix)
		}
		d.report(failed, "etcd", endpoints+" refuses the login: "+err.Error(), hint)
		return
	}
	if why := backend.DiagnoseTLS(ctx, d.cfg); why != nil {
		d.report(failed, "etcd", endpoints+" does not answer", why.Error())
		return
	}
	if d.reportNoQuorum(ctx) {
		return
	}
	d.report(failed, "etcd", fmt.Sprintf("%s: no linearizable read within %v: %v", endpoints, connectTimeout, err),
		"check that it runs, that --etcd-endpoints is right, and with `etcdctl endpoint status --cluster -w table` that most members have a leader")
}

// reportNoQuorum reports a cluster whose members answer but have no leader. It returns false for any other cluster.
func (d *doctor) reportNoQuorum(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	var answering, silent []string
	for _, m := range d.store.Members(ctx) {
		switch {
		case m.Err != nil:
			silent = append(silent, m.Endpoint)
		case m.Leading:
			return false
		default:
			answering = append(answering, m.Endpoint)
		}
	}
	if len(answering) == 0 {
		return false
	}
	hint := "the members cannot reach one another: check their network and their logs"
	if len(silent) > 0 {
		hint = "start " + strings.Join(silent, ", ") + ": most members are needed, and no gateway can read or write until then"
	}
	d.report(failed, "etcd", fmt.Sprintf("there is no quorum: %s answers without a leader", strings.Join(answering, ", ")), hint)
	return true
}

// checkSpeed also sets d.revision.
func (d *doctor) checkSpeed(ctx context.Context) {
	start := time.Now()
	revision, err := d.store.Revision(ctx)
	switch duration := elapsed(start); {
	case err != nil:
		d.report(failed, "etcd", err.Error(), "")
	case duration > slowRead:
		d.report(warning, "speed", fmt.Sprintf("a linearizable read took %v; fresh lists and bookmarks wait for one", duration),
			"look at etcd_disk_wal_fsync_duration_seconds and etcd_network_peer_round_trip_time_seconds")
	default:
		d.revision = revision
		d.report(ok, "speed", fmt.Sprintf("a linearizable read takes %v", duration), "")
	}
}

// longHistory is a number of revisions that etcd does not reach with regular compaction.
const longHistory = 5_000_000

func (d *doctor) checkHistory(ctx context.Context) {
	oldest, err := d.store.Oldest(ctx)
	if err != nil {
		d.report(skipped, "history", "cannot be read: "+err.Error(), "")
		return
	}
	summary := fmt.Sprintf("revisions %d to %d can be watched from", oldest, max(d.revision, oldest))
	if kept := d.revision - oldest; kept > longHistory {
		d.report(warning, "history", summary, "no program seems to compact: give one gateway's `serve` --history, or etcd --auto-compaction-retention")
		return
	}
	d.report(ok, "history", summary, "")
}

func (d *doctor) checkMembers(ctx context.Context) {
	clusters := make(map[uint64]bool)
	for _, m := range d.store.Members(ctx) {
		if m.Err != nil {
			d.report(failed, "member", fmt.Sprintf("%s does not answer: %v", m.Endpoint, m.Err), "start it, or remove it from --etcd-endpoints; the other members still serve")
			continue
		}
		clusters[m.Cluster] = true
		d.checkMember(m)
	}
	if len(clusters) > 1 {
		d.report(failed, "member", "the endpoints are of different clusters: lists and watches would mix them", "name members of one cluster in --etcd-endpoints")
	}
}

// highUsage and criticalUsage are shares of the quota.
const highUsage, criticalUsage = 0.8, 0.95

func (d *doctor) checkMember(m etcdstore.MemberStatus) {
	summary := fmt.Sprintf("%s: etcd %s, revision %d, %s of which %s in use", m.Endpoint, m.Version, m.Revision, formatBytes(m.Size), formatBytes(m.InUse))
	if m.Quota > 0 {
		summary += ", quota " + formatBytes(m.Quota)
	}
	share := float64(m.Size) / float64(max(m.Quota, 1))
	switch {
	case !m.Leading:
		d.report(failed, "member", summary+"; it has no leader", "it cannot reach most of the other members: check its network and its log")
	case m.Learner:
		d.report(failed, "member", summary+"; it is a learner, which answers no linearizable reads", "promote it, or remove it from --etcd-endpoints")
	case m.Quota > 0 && share > criticalUsage:
		d.report(failed, "member", summary+": etcd will soon refuse writes", "compact (--history), `etcdctl defrag`, or raise etcd's --quota-backend-bytes")
	case m.Quota > 0 && share > highUsage:
		d.report(warning, "member", summary+": more than 80 % of it is used", "compact (--history), `etcdctl defrag`, or raise etcd's --quota-backend-bytes")
	case upgradeTo(m.Version) != "":
		d.report(warning, "member", summary, "this version can serve stale reads or lose events of watches: upgrade to "+upgradeTo(m.Version)+" or later")
	default:
		d.report(ok, "member", summary, "")
	}
	for _, problem := range m.Errors {
		d.report(failed, "member", m.Endpoint+": "+problem, "`etcdctl alarm list` and its log say more")
	}
}

// fixedPatch is, for each minor version of etcd, the first patch release without known bugs in reads and watches.
var fixedPatch = map[string]int{"3.5": 28, "3.6": 9, "3.7": 0}

// upgradeTo is the release that fixes the known bugs of a version; empty: the version has none.
func upgradeTo(version string) string {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 {
		return ""
	}
	minorVersion := fmt.Sprintf("%d.%d", major, minor)
	fixed, known := fixedPatch[minorVersion]
	switch {
	case known && patch < fixed:
		return fmt.Sprintf("%s.%d", minorVersion, fixed)
	case !known && (major < 3 || major == 3 && minor < 5):
		return "3.5.28"
	}
	return ""
}

func (d *doctor) checkAlarms(ctx context.Context) {
	alarms, err := d.store.Alarms(ctx)
	if err != nil {
		d.report(skipped, "alarms", "cannot be read: "+err.Error(), "")
		return
	}
	for _, alarm := range alarms {
		hint := "stop this member, and restore it from the others: see etcd's guide to data corruption"
		if alarm.Type == "NOSPACE" {
			hint = "etcd refuses writes: compact, `etcdctl defrag`, then `etcdctl alarm disarm`"
		}
		d.report(failed, "alarms", fmt.Sprintf("member %s has raised %s", alarm.Member, alarm.Type), hint)
	}
	if len(alarms) == 0 {
		d.report(ok, "alarms", "none", "")
	}
}
