package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"revtail/cmd/revtail/backend"
	"revtail/cmd/revtail/client"
	"revtail/etcdstore"
	"revtail/gateway/claim"
	"revtail/gateway/config"
)

// doctor is one run of the checks.
type doctor struct {
	cfg    config.Config
	access client.Config
	idle   time.Duration
	out    io.Writer

	wrong  int
	proxy  proxy              // before the gateway
	before etcdstore.Revision // etcd's, before the gateway was asked; zero: not known
	store  *etcdstore.Etcd    // nil: not reached
}

const (
	// reachTime is for the first answer; the machine next door needs a hundredth.
	reachTime = 5 * time.Second
	// statusTime is for members that have not answered within that.
	statusTime = 2 * time.Second
	// slowRead is what a linearizable read takes when disks or networks are in trouble.
	slowRead = 100 * time.Millisecond
	// sampleKeys is how many keys are looked at.
	sampleKeys = 1000
)

func (d *doctor) checkEtcd(ctx context.Context) {
	endpoints := d.cfg.EtcdEndpoints
	if !d.cfg.External() {
		endpoints = []string{d.cfg.EmbeddedClientURL}
		d.cfg.EtcdEndpoints = endpoints // to look at it as at any other
	}
	store, err := d.openEtcd()
	if err != nil {
		d.report(bad, "etcd", err.Error(), "")
		return
	}
	reaching, cancel := context.WithTimeout(ctx, reachTime)
	defer cancel()
	began := time.Now()
	d.store = store
	if err := store.Await(reaching); err != nil {
		d.unreachable(ctx, err)
		d.store = nil
		_ = store.Close()
		return
	}
	d.report(fine, "etcd", fmt.Sprintf("%s answers a linearizable read, so there is a quorum (%v)", strings.Join(endpoints, ", "), took(began)), "")
	d.checkSpeed(ctx)
	d.checkMembers(ctx)
	d.checkAlarms(ctx)
	d.checkHistory(ctx)
	d.checkClaim(ctx)
	d.checkContent(ctx)
}

// checkClaim says whose data is under the prefix.
func (d *doctor) checkClaim(ctx context.Context) {
	prefix := d.cfg.EtcdPrefix
	state, err := claim.Look(ctx, claim.Config{Store: d.store, Prefix: prefix, Logger: slog.New(slog.DiscardHandler)})
	switch {
	case err != nil:
		d.report(bad, "claim", err.Error(), "")
	case state.Owner == claim.Kubernetes:
		d.report(warning, "claim", fmt.Sprintf("the data under %s is not revtail's own: %s", prefix, state.Reason),
			"nothing, if it is to be read only; else choose a prefix of revtail's own: --etcd-prefix /revtail --adopt")
	case state.Owner == claim.Foreign:
		d.report(warning, "claim", fmt.Sprintf("the data under %s is not revtail's own: %s", prefix, state.Reason),
			"nothing, if it is to be read only; --writable carries out what clients write, --adopt makes it revtail's own")
	case state.Owner == claim.Nobody:
		d.report(fine, "claim", fmt.Sprintf("nothing is under %s: the first write makes it revtail's own", prefix), "")
	default:
		d.report(fine, "claim", fmt.Sprintf("the data under %s is revtail's own", prefix), "")
	}
}

func (d *doctor) openEtcd() (*etcdstore.Etcd, error) {
	logger := slog.New(slog.DiscardHandler)
	config, err := d.cfg.OpenEtcdTLS(logger)
	if err != nil {
		return nil, err
	}
	password, err := d.cfg.OpenEtcdPassword(logger)
	if err != nil {
		return nil, err
	}
	access := etcdstore.Config{Endpoints: d.cfg.EtcdEndpoints}
	if config != nil {
		access.TLS = config.Get
	}
	if password != nil {
		access.Username, access.Password = d.cfg.EtcdUser, password.Get
	}
	return etcdstore.Open(access)
}

func (d *doctor) unreachable(ctx context.Context, err error) {
	endpoints := strings.Join(d.cfg.EtcdEndpoints, ", ")
	if errors.Is(err, etcdstore.ErrDenied) {
		d.report(bad, "etcd", endpoints+" refuses the login: "+err.Error(), "check --etcd-user, --etcd-password-file and --etcd-cert")
		return
	}
	if why := backend.DiagnoseTLS(ctx, d.cfg); why != nil {
		d.report(bad, "etcd", endpoints+" gives no answer", why.Error())
		return
	}
	if d.withoutQuorum(ctx) {
		return
	}
	d.report(bad, "etcd", fmt.Sprintf("%s: no linearizable read within %v: %v", endpoints, reachTime, err),
		"is it running, is --etcd-endpoints right, and do most of its members see one another? `etcdctl endpoint status --cluster -w table` says")
}

// withoutQuorum reports a cluster of which some members answer, and see no leader.
func (d *doctor) withoutQuorum(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	var answer, silent []string
	for _, m := range d.store.Members(ctx) {
		switch {
		case m.Err != nil:
			silent = append(silent, m.Endpoint)
		case m.Leading:
			return false
		default:
			answer = append(answer, m.Endpoint)
		}
	}
	if len(answer) == 0 {
		return false
	}
	do := "the members do not reach one another: look at their network and their logs"
	if len(silent) > 0 {
		do = "start " + strings.Join(silent, ", ") + ": most members are needed, and no gateway can read or write until then"
	}
	d.report(bad, "etcd", fmt.Sprintf("there is no quorum: %s answers without a leader", strings.Join(answer, ", ")), do)
	return true
}

func (d *doctor) checkSpeed(ctx context.Context) {
	began := time.Now()
	revision, err := d.store.Revision(ctx)
	switch spent := took(began); {
	case err != nil:
		d.report(bad, "etcd", err.Error(), "")
	case spent > slowRead:
		d.report(warning, "speed", fmt.Sprintf("a linearizable read took %v; fresh lists and bookmarks wait for one", spent),
			"look at etcd_disk_wal_fsync_duration_seconds and etcd_network_peer_round_trip_time_seconds")
	default:
		d.before = revision
		d.report(fine, "speed", fmt.Sprintf("a linearizable read takes %v", spent), "")
	}
}

func (d *doctor) checkMembers(ctx context.Context) {
	clusters := make(map[uint64]bool)
	for _, m := range d.store.Members(ctx) {
		if m.Err != nil {
			d.report(bad, "member", fmt.Sprintf("%s does not answer: %v", m.Endpoint, m.Err), "start it, or take it out of --etcd-endpoints; the others carry on meanwhile")
			continue
		}
		clusters[m.Cluster] = true
		d.checkMember(m)
	}
	if len(clusters) > 1 {
		d.report(bad, "member", "the endpoints are of different clusters: lists and watches would mix them", "name members of one cluster in --etcd-endpoints")
	}
}

// roomy and full are shares of the quota.
const roomy, full = 0.8, 0.95

func (d *doctor) checkMember(m etcdstore.MemberStatus) {
	about := fmt.Sprintf("%s: etcd %s, revision %d, %s of which %s in use", m.Endpoint, m.Version, m.Revision, bytesOf(m.Size), bytesOf(m.InUse))
	if m.Quota > 0 {
		about += ", quota " + bytesOf(m.Quota)
	}
	share := float64(m.Size) / float64(max(m.Quota, 1))
	switch {
	case !m.Leading:
		d.report(bad, "member", about+"; it sees no leader", "it is cut off from most of the others: look at its network and its log")
	case m.Learner:
		d.report(bad, "member", about+"; it is a learner, which answers no linearizable reads", "promote it, or take it out of --etcd-endpoints")
	case m.Quota > 0 && share > full:
		d.report(bad, "member", about+": soon nothing can be written any more", "compact (--history), `etcdctl defrag`, or raise etcd's --quota-backend-bytes")
	case m.Quota > 0 && share > roomy:
		d.report(warning, "member", about+": more than four fifths of it", "compact (--history), `etcdctl defrag`, or raise etcd's --quota-backend-bytes")
	case tooOld(m.Version) != "":
		d.report(warning, "member", about, "this version can serve stale reads or lose events of watches: upgrade to "+tooOld(m.Version)+" or later")
	default:
		d.report(fine, "member", about, "")
	}
	for _, problem := range m.Errors {
		d.report(bad, "member", m.Endpoint+": "+problem, "`etcdctl alarm list` and its log say more")
	}
}

// correct is, for each minor version, the first release without the known mistakes in reads and watches.
var correct = map[string]int{"3.5": 28, "3.6": 9, "3.7": 0}

// tooOld is the version that should replace one with known mistakes; empty: none.
func tooOld(version string) string {
	var major, minor, patch int
	if n, _ := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 {
		return ""
	}
	line := fmt.Sprintf("%d.%d", major, minor)
	first, known := correct[line]
	switch {
	case known && patch < first:
		return fmt.Sprintf("%s.%d", line, first)
	case !known && (major < 3 || major == 3 && minor < 5):
		return "3.5.28"
	}
	return ""
}

func (d *doctor) checkAlarms(ctx context.Context) {
	alarms, err := d.store.Alarms(ctx)
	if err != nil {
		d.report(skipped, "alarms", "cannot be asked for: "+err.Error(), "")
		return
	}
	for _, alarm := range alarms {
		do := "keep this member from serving, and restore it from the others: see etcd's guide to data corruption"
		if alarm.Type == "NOSPACE" {
			do = "nothing can be written: compact, `etcdctl defrag`, then `etcdctl alarm disarm`"
		}
		d.report(bad, "alarms", fmt.Sprintf("member %s has raised %s", alarm.Member, alarm.Type), do)
	}
	if len(alarms) == 0 {
		d.report(fine, "alarms", "none", "")
	}
}

// longHistory is how many revisions somebody compacts before, in any etcd that is looked after.
const longHistory = 5_000_000

func (d *doctor) checkHistory(ctx context.Context) {
	oldest, err := d.store.Oldest(ctx)
	if err != nil {
		d.report(skipped, "history", "cannot be asked for: "+err.Error(), "")
		return
	}
	about := fmt.Sprintf("revisions %d to %d can be watched from", oldest, max(d.before, oldest))
	if kept := d.before - oldest; kept > longHistory {
		d.report(warning, "history", about, "nobody seems to compact: give one gateway's `serve` --history, or etcd --auto-compaction-retention")
		return
	}
	d.report(fine, "history", about, "")
}

// checkContent looks whether what is under the prefix is what revtail can show.
func (d *doctor) checkContent(ctx context.Context) {
	page, err := d.store.List(ctx, d.cfg.EtcdPrefix+"/", etcdstore.ListOptions{Limit: sampleKeys})
	if errors.Is(err, etcdstore.ErrDenied) {
		d.report(bad, "content", err.Error(), "grant the user of --etcd-user reading and writing of "+d.cfg.EtcdPrefix+"/ and revtail/")
		return
	}
	if err != nil {
		d.report(bad, "content", err.Error(), "")
		return
	}
	foreign, example := 0, ""
	protobuf := false
	for _, kv := range page.KVs {
		var object map[string]json.RawMessage
		if json.Unmarshal(kv.Value, &object) != nil {
			foreign, example = foreign+1, kv.Key
			protobuf = protobuf || bytes.HasPrefix(kv.Value, []byte("k8s\x00")) || bytes.HasPrefix(kv.Value, []byte("k8s:enc:"))
		}
	}
	about := fmt.Sprintf("%d keys under %s", int64(len(page.KVs))+page.Remaining, d.cfg.EtcdPrefix)
	if page.Remaining > 0 {
		about += fmt.Sprintf(", of which %d were looked at", len(page.KVs))
	}
	switch {
	case protobuf:
		d.report(warning, "content", fmt.Sprintf("%s; %d are what a kube-apiserver has stored, as %q: revtail shows JSON alone", about, foreign, example),
			"nothing, if custom resources are to be read here; else choose another --etcd-prefix")
	case foreign > 0:
		d.report(warning, "content", fmt.Sprintf("%s; %d are no JSON objects, as %q: lists and watches leave them out", about, foreign, example), "correct or delete them")
	default:
		d.report(fine, "content", about+", all of them can be shown", "")
	}
}
