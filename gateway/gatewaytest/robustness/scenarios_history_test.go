package robustness

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"revtail/gateway/gatewaytest"
)

// historyScenarios have faults of etcd's revisions and their history.
var historyScenarios = []Scenario{
	{
		Name: "compaction", Quick: true, Etcd: 1, Gateways: 2, Seconds: [2]int{15, 60},
		Rules: Rules{Events: 5000, Faults: 1, Acknowledged: 200},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(100)...)
			r.Write(20)
			r.Fault("etcd is compacted to its newest revision twice a second")
			for range seconds * 2 {
				r.Wait(500 * time.Millisecond)
				r.Compact(r.history().Truth.Through())
			}
		},
	},
	{
		// An older state of etcd's files, of the same cluster, as from a restored disk. The revisions go back.
		Name: "older-backup", Quick: true, Etcd: 1, Gateways: 2, Seconds: [2]int{10, 30},
		Rules: Rules{Codes: []int{429, 503, 504}, Relists: true, Events: 1000, Faults: 0, Acknowledged: 50},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(100)...)
			r.Write(20)
			r.Wait(time.Second)
			member := r.cluster.Members[0]
			backup := filepath.Join(r.TempDir(), "backup")
			member.Stop(r.TB)
			if err := os.CopyFS(backup, os.DirFS(member.DataDir)); err != nil {
				r.Fatal(err)
			}
			member.Restart(r.TB)
			r.Wait(time.Duration(seconds) * time.Second)
			r.pauseWriters()
			old := r.history()
			r.Fault("etcd's files are replaced by a backup")
			r.putBack(member, backup)
			since := time.Now()
			for i := range r.gateways {
				if l, err := r.list(r.Context(), i, Consistent, Scope{}, 0); err == nil { // a list must be current
					l.Reader = "the impatient"
					r.history().addList(l)
				}
			}
			r.told(old, since)
			r.Write(20)
			r.Wait(5 * time.Second)
		},
	},
	{
		// As in the manual: a snapshot becomes a new cluster, with much greater revisions.
		Name: "restored-snapshot", Quick: true, Etcd: 1, Gateways: 2, Seconds: [2]int{5, 30},
		Rules: Rules{Codes: []int{429, 503, 504}, Relists: true, Events: 1000, Acknowledged: 50},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(100)...)
			r.Write(20)
			r.Wait(3 * time.Second)
			member, snapshot := r.cluster.Members[0], filepath.Join(r.TempDir(), "snapshot.db")
			r.tool("etcdctl", "--endpoints", member.Endpoint, "snapshot", "save", snapshot)
			r.Wait(time.Duration(seconds) * time.Second)
			r.pauseWriters()
			old := r.history()
			r.Fault("etcd is made anew of a snapshot")
			member.Kill(r.TB)
			if err := os.RemoveAll(member.DataDir); err != nil {
				r.Fatal(err)
			}
			r.tool("etcdutl", "snapshot", "restore", snapshot, "--data-dir", member.DataDir, "--name", "m0", "--initial-cluster", "m0="+member.Peer,
				"--initial-advertise-peer-urls", member.Peer, "--initial-cluster-token", "another", "--bump-revision", "1000000", "--mark-compacted")
			member.Restart(r.TB)
			r.turnAway()
			r.told(old, time.Now())
			r.Write(20)
			r.Wait(5 * time.Second)
		},
	},
	{
		// A client of a quiet object has only bookmarks to resume with.
		Name: "quiet", Quick: true, Etcd: 1, Gateways: 2, Seconds: [2]int{24, 600},
		Rules: Rules{Codes: []int{429}, Events: 1000, Resumes: 10, Faults: 1, Acknowledged: 50},
		Play: func(r *Run, seconds int) {
			var clients []Client
			for i := range 10 {
				clients = append(clients, Client{Name: fmt.Sprint("quiet-", i), Scope: Scope{Namespace: "quiet"}, Bookmarks: true, Quiet: true,
					Timeout: time.Duration(4+i%3) * time.Second, Gateway: i})
			}
			r.Watch(append(clients, Crowd(20)...)...)
			r.Write(12)
			r.Fault("etcd is compacted again and again to where it was 3 s ago")
			for range seconds / 3 {
				before := r.history().Truth.Through()
				r.Wait(3 * time.Second)
				r.Compact(before)
			}
		},
	},
	{
		// The cache is filled repeatedly, because a compaction has overtaken it, while clients open watches all the time.
		Name: "rebuilds", Etcd: 1, Gateways: 2, Proxied: true, Seconds: [2]int{15, 240},
		Rules: Rules{Codes: []int{429, 503, 504}, Events: 5000, Resumes: 1000, Faults: 4, Acknowledged: 50},
		Play: func(r *Run, seconds int) {
			clients := Crowd(300)
			for i := range clients {
				clients[i].Timeout, clients[i].Stay = time.Second, i%3 == 0
			}
			r.Watch(clients...)
			r.Write(6)
			proxy := r.gateways[0].proxies[0]
			for range seconds / 3 {
				r.Fault("gateway 0 is cut off while etcd is compacted")
				proxy.Swallow()
				before := r.history().Truth.Through()
				gatewaytest.Until(r.TB, "writes", func() bool { return r.history().Truth.Through() > before+5 })
				r.Compact(r.history().Truth.Through())
				proxy.Cut()
				proxy.Heal()
				r.Wait(2 * time.Second)
			}
		},
	},
	{
		// Many keys change in one revision: a lease ends, a prefix is deleted.
		Name: "large-revisions", Etcd: 1, Gateways: 2, Seconds: [2]int{3, 6},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429}, Events: 5000, Faults: 2, Acknowledged: 20},
		Play: func(r *Run, rounds int) {
			r.Watch(Crowd(40)...)
			r.Write(5)
			for i := range rounds {
				r.fill(fmt.Sprint("leased-", i, "-"), 2000, 2*time.Second)
				r.fill(fmt.Sprint("many-", i, "-"), 2000, 0)
				r.Wait(2 * time.Second)
				r.Fault("kill -9 of a gateway while 2,000 keys go with a lease, and 2,000 by a delete")
				if _, err := r.etcd.deleteAll(r.Context(), fmt.Sprint(prefix, "c/many-", i, "-")); err != nil {
					r.Log(err)
				}
				gw := r.gateways[i%2]
				gw.Kill(r.TB)
				gw.life.Add(1)
				gw.Restart(r.TB)
				r.Wait(3 * time.Second)
			}
		},
	},
}
