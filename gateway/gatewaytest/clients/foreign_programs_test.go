package clients

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

// foreign is the owner of the data in the ready line.
const foreign = "foreign"

// programData is data in etcd of programs without Kubernetes, in their layouts: Patroni, APISIX, CoreDNS, and keys without a slash.
var programData = []string{
	"/service/batman/config", `{"loop_wait":10,"ttl":30,"postgresql":{"use_pg_rewind":true}}`,
	"/service/batman/initialize", "7423875512345678901",
	"/service/batman/history", `[[1,50331808,"no recovery target specified","2026-01-01T00:00:00+00:00","one"]]`,
	"/service/batman/optime/leader", "50331808",
	"/service/batman/failover", "{}",
	"/service/batman/sync", `{"leader":"one","sync_standby":null}`,
	"/apisix/routes/1", `{"id":"1","uri":"/get","upstream":{"type":"roundrobin","nodes":{"192.0.2.1:80":1}},"create_time":1700000000,"update_time":1700000000,"status":1}`,
	"/apisix/upstreams/1", `{"id":"1","type":"roundrobin","nodes":[{"host":"192.0.2.1","port":80,"weight":1}]}`,
	"/apisix/consumers/jack", `{"username":"jack","plugins":{"key-auth":{"key":"one"}}}`,
	"/apisix/secrets/vault/1", `{"id":"vault/1","uri":"http://192.0.2.1:8200","prefix":"kv","token":"none"}`, // as a Secret in a namespace
	"/apisix/services/1", `{"id":"1","upstream_id":"1"}`,
	"/apisix/plugins", `[{"name":"key-auth"}]`,
	"/apisix/routes/", "init_dir",
	"/skydns/com/example/x", `{"host":"192.0.2.1","ttl":60}`,
	"/skydns/com/example/www/a1", `{"host":"192.0.2.2","port":8080,"priority":10}`,
	"/skydns/com/example/_tcp/b", `{"text":"hello"}`,
	"plain", "value",
	"vault/core/lock", "\x00\x01\xff",
}

// postgres acts as Patroni does: it has a key with a lease that it renews, and writes its status repeatedly.
type postgres struct {
	etcd           *gatewaytest.Keys
	leader, member *gatewaytest.Lease
	writes         map[int64]bool // the revisions that are its own
}

func startPostgres(t *testing.T, etcd *gatewaytest.Keys) *postgres {
	t.Helper()
	const ttl = 10 * time.Minute // gateways may be slow to start
	p := &postgres{etcd, etcd.Grant(t, ttl), etcd.Grant(t, ttl), make(map[int64]bool)}
	p.leader.Put(t, "/service/batman/leader", "one")
	p.member.Put(t, "/service/batman/members/one", `{"conn_url":"postgres://192.0.2.1:5432/postgres","state":"running","role":"primary"}`)
	return p
}

// beat is its work of every few seconds.
func (p *postgres) beat(t *testing.T) {
	t.Helper()
	p.leader.Renew(t)
	p.member.Renew(t)
	revision := p.etcd.Put(t, "/service/batman/status", fmt.Sprintf(`{"optime":%d}`, len(p.writes)))
	p.writes[revision] = true
}

func (p *postgres) hasWritten(change gatewaytest.Change) bool { return p.writes[change.Revision] }

// programPlaces are at the default prefix, which is empty, and at the prefixes of the programs.
var programPlaces = []place{
	{"", "", nil},
	{"--keys *", "", nil},
	{"--etcd-prefix /nothing --keys *", "", nil},
	{"--etcd-prefix /service", foreign, someWrites},
	{"--etcd-prefix /service --keys *", foreign, [][]request{writes}},
	{"--etcd-prefix /service/batman", foreign, someWrites},
	{"--etcd-prefix /service/batman/members --keys *", foreign, [][]request{writes}},
	{"--etcd-prefix /apisix --keys *", foreign, [][]request{writes}},
	{"--etcd-prefix /apisix/routes", foreign, someWrites},
	{"--etcd-prefix /skydns --keys *", foreign, [][]request{writes}},
	{"--etcd-prefix /skydns/com/example", foreign, someWrites},
}

// TestForeignPrograms checks that gateways write nothing to an etcd of other programs, neither at the default prefix, which is empty, nor
// at the prefixes of the data, and that the first write of a client claims one prefix for the gateway.
func TestForeignPrograms(t *testing.T) {
	t.Parallel()
	cluster := gatewaytest.StartEtcd(t, 1)
	etcd := gatewaytest.DialEtcd(t, cluster.Endpoints())
	etcd.Put(t, programData...)
	patroni := startPostgres(t, etcd)
	first := newJudge(t, etcd)
	visitors := arrive(t, cluster.Endpoints(), programPlaces)
	for _, v := range visitors {
		v.tryAll(t)
	}
	visit(t, func() { patroni.beat(t) }, visitors...)
	first.check(t, patroni.hasWritten)

	second, gw := newJudge(t, etcd), visitors[0].gw
	writeAndCollect(t, gw, "default", define(t, newClient(t, gw), "things", "Thing", anything))
	second.check(t, func(change gatewaytest.Change) bool {
		return strings.HasPrefix(change.Key, "/registry/") || strings.HasPrefix(change.Key, "revtail/")
	})
	if _, modified := etcd.Get(t, "revtail/claims/registry"); modified != second.before.Revision+1 {
		t.Errorf("the marker is of revision %d, want that of the first write, %d", modified, second.before.Revision+1)
	}
}
