package doctor

import (
	"context"
	"fmt"

	"revtail/etcdstore"
)

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
