package robustness

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"revtail/gateway/gatewaytest"
)

var scenarios = []Scenario{
	{
		Name: "leader-kill", Quick: true, Etcd: 3, Gateways: 2, Seconds: [2]int{25, 60},
		Rules: Rules{Events: 5000, Faults: 4, Acknowledged: 200},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(200)...)
			r.Write(12)
			r.Wait(2 * time.Second)
			for range seconds / 5 {
				leader := r.Leader()
				r.Fault("kill -9 of the leader %s", leader.Endpoint)
				leader.Kill(r.TB)
				r.Wait(time.Second)
				leader.Restart(r.TB)
				r.Wait(4 * time.Second)
			}
		},
	},
	{
		Name: "gateway-kill", Quick: true, Etcd: 3, Gateways: 2, Seconds: [2]int{20, 60},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429}, Events: 5000, Resumes: 200, Faults: 3, Acknowledged: 200},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(200)...)
			r.Write(12)
			r.Wait(2 * time.Second)
			for i := range seconds / 5 {
				gw := r.gateways[i%len(r.gateways)]
				r.Fault("kill -9 of the gateway %s", gw.URL)
				gw.Kill(r.TB)
				r.Wait(time.Second)
				gw.life.Add(1)
				gw.Restart(r.TB)
				r.Wait(4 * time.Second)
			}
		},
	},
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
		Name: "embedded-kill", Quick: true, Seconds: [2]int{5, 20},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429}, Events: 500, Resumes: 50, Faults: 5, Acknowledged: 100},
		Play: func(r *Run, kills int) {
			r.Watch(Crowd(20)...)
			r.Write(40)
			for range kills {
				r.Wait(2 * time.Second)
				r.Fault("kill -9 of the gateway with its etcd")
				r.gateways[0].Kill(r.TB)
				r.gateways[0].life.Add(1)
				r.gateways[0].Restart(r.TB)
			}
			r.Wait(2 * time.Second)
		},
	},
	{
		// An older state of etcd's files, of the same cluster: what a restored disk is. The revisions go back.
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
			member.Kill(r.TB)
			if err := os.RemoveAll(member.DataDir); err != nil {
				r.Fatal(err)
			}
			if err := os.CopyFS(member.DataDir, os.DirFS(backup)); err != nil {
				r.Fatal(err)
			}
			member.Restart(r.TB)
			r.turnBack()
			since := time.Now()
			for i := range r.gateways {
				if l, err := r.list(r.Context(), i, Consistent, Scope{}, 0); err == nil { // if it answers, then with what is true now
					l.Reader = "the impatient"
					r.history().addList(l)
				}
			}
			r.told(old, since, 10*time.Second)
			r.Write(20)
			r.Wait(5 * time.Second)
		},
	},
	{
		// As the manual says: a snapshot becomes a new cluster, whose revisions are far above all that were given out.
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
			r.told(old, time.Now(), 10*time.Second)
			r.Write(20)
			r.Wait(5 * time.Second)
		},
	},
	{
		Name: "no-quorum", Quick: true, Etcd: 3, Gateways: 2, Seconds: [2]int{15, 60},
		Rules: Rules{Codes: []int{429, 503, 504}, Events: 2000, Faults: 1, Acknowledged: 50},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(60)...)
			r.Write(12)
			r.Wait(3 * time.Second)
			leader := r.Leader()
			r.Fault("the leader and another member are killed")
			killed := []*gatewaytest.Member{leader}
			for _, m := range r.cluster.Members {
				if m != leader && len(killed) < 2 {
					killed = append(killed, m)
				}
			}
			for _, m := range killed {
				m.Kill(r.TB)
			}
			r.Wait(4 * time.Second)
			for i := range r.gateways {
				r.honest(i)
			}
			r.Wait(time.Duration(seconds-8) * time.Second)
			r.Fault("they are started again")
			for _, m := range killed {
				m.Restart(r.TB)
			}
			for i := range r.gateways {
				r.back(i)
			}
			r.Wait(3 * time.Second)
		},
	},
	{
		// The gateway's packets to etcd, and etcd's to it, get lost. Its clients must find their way to the other one.
		Name: "cut-off", Quick: true, Etcd: 1, Gateways: 2, Proxied: true, Seconds: [2]int{42, 90},
		Rules: Rules{Codes: []int{429, 503, 504}, Events: 2000, Resumes: 40, Faults: 2, Acknowledged: 100},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(80)...)
			r.Write(10)
			r.Wait(2 * time.Second)
			r.Fault("gateway 0 is cut off from etcd, silently")
			for _, p := range r.gateways[0].proxies {
				p.Swallow()
			}
			r.Wait(4 * time.Second)
			r.honest(0)
			r.Wait(time.Duration(seconds-10) * time.Second)
			if n := r.openOn(0); n > 0 {
				r.Violate("partition-honest", "gateway 0", "%d watches are still open after %d s without etcd", n, seconds)
			}
			r.Fault("the road is good again")
			for _, p := range r.gateways[0].proxies {
				p.Heal()
			}
			r.back(0)
			r.Wait(3 * time.Second)
		},
	},
	{
		// A member that a gateway talks to stands still, and keeps its connections.
		Name: "frozen-member", Quick: true, Etcd: 3, Gateways: 2, Seconds: [2]int{25, 60},
		Rules: Rules{Codes: []int{429, 503, 504}, Events: 2000, Faults: 2, Acknowledged: 100},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(80)...)
			r.Write(10)
			r.Wait(2 * time.Second)
			leader := r.Leader()
			r.Fault("the leader %s stands still", leader.Endpoint)
			leader.Freeze(r.TB)
			r.Wait(time.Duration(seconds) * time.Second)
			r.Fault("it goes on")
			leader.Thaw(r.TB)
			r.Wait(3 * time.Second)
		},
	},
	{
		Name: "resets", Quick: true, Etcd: 3, Gateways: 2, Proxied: true, Seconds: [2]int{14, 60},
		Rules: Rules{Codes: []int{429, 503, 504}, Events: 2000, Faults: 5, Acknowledged: 100},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(80)...)
			r.Write(12)
			for range seconds / 2 {
				r.Wait(2 * time.Second)
				r.Fault("all connections between gateways and etcd are reset")
				for _, gw := range r.gateways {
					for _, p := range gw.proxies {
						p.Cut()
					}
				}
			}
			r.Wait(2 * time.Second)
		},
	},
	{
		Name: "one-way", Etcd: 3, Gateways: 2, Proxied: true, Seconds: [2]int{25, 40},
		Rules: Rules{Codes: []int{429, 503, 504}, Events: 2000, Faults: 2, Acknowledged: 100},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(80)...)
			r.Write(12)
			r.Wait(2 * time.Second)
			r.Fault("what two members of etcd send to gateway 0 gets lost")
			r.gateways[0].proxies[0].SwallowAnswers()
			r.gateways[0].proxies[1].SwallowAnswers()
			r.Wait(time.Duration(seconds) * time.Second)
			r.Fault("the roads are good again")
			r.gateways[0].proxies[0].Heal()
			r.gateways[0].proxies[1].Heal()
			r.Wait(3 * time.Second)
		},
	},
	{
		Name: "slow-road", Etcd: 3, Gateways: 2, Proxied: true, Seconds: [2]int{15, 30},
		Rules: Rules{Events: 1000, Faults: 1, Acknowledged: 50},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(80)...)
			r.Write(12)
			r.Wait(2 * time.Second)
			r.Fault("the roads of gateway 0 to two members take 500 ms")
			r.gateways[0].proxies[0].Delay(500 * time.Millisecond)
			r.gateways[0].proxies[1].Delay(500 * time.Millisecond)
			r.Wait(time.Duration(seconds) * time.Second)
		},
	},
	{
		Name: "frozen-gateway", Etcd: 1, Gateways: 2, Seconds: [2]int{15, 30},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429, 503, 504}, Events: 2000, Faults: 2, Acknowledged: 100},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(80)...)
			r.Write(20)
			r.Wait(2 * time.Second)
			r.Fault("gateway 0 stands still, and etcd is compacted meanwhile")
			r.gateways[0].Freeze(r.TB)
			r.Wait(time.Duration(seconds) * time.Second)
			r.Compact(r.history().Truth.Through())
			r.Wait(time.Second)
			r.Fault("it goes on")
			r.gateways[0].Thaw(r.TB)
			r.Wait(4 * time.Second)
		},
	},
	{
		Name: "rolling-restart", Etcd: 3, Gateways: 2, Seconds: [2]int{1, 3},
		Rules: Rules{Codes: []int{429}, Events: 2000, Faults: 3, Acknowledged: 100},
		Play: func(r *Run, rounds int) {
			r.Watch(Crowd(100)...)
			r.Write(12)
			for range rounds {
				for _, m := range r.cluster.Members {
					r.Wait(5 * time.Second)
					r.Fault("SIGTERM to %s", m.Endpoint)
					m.Stop(r.TB)
					m.Restart(r.TB)
				}
			}
			r.Wait(3 * time.Second)
		},
	},
	{
		Name: "full", Quick: true, Etcd: 1, EtcdArgs: []string{"--quota-backend-bytes=16777216"}, Gateways: 2, Seconds: [2]int{5, 20},
		Rules: Rules{Codes: []int{429}, Events: 1000, Faults: 2, Acknowledged: 50},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(60)...)
			r.Write(12)
			r.Wait(2 * time.Second)
			r.Fault("etcd is filled up to its quota")
			filler := &writer{run: r, name: "filler"}
			full := func() bool {
				value := filler.unique()
				body := strings.Replace(manifest("full", value, "red", value, 0), `"pad":"`, `"pad":"`+strings.Repeat("x", 200<<10), 1)
				record := &Write{Writer: "filler", Verb: http.MethodPost, Keys: []string{prefix + "full/" + value}, Value: value}
				filler.send(r.Context(), record, "/api/v1/namespaces/full/configmaps", body)
				if record.Code == http.StatusInsufficientStorage && record.Reason != "StorageFull" {
					r.Violate("storage-full", "filler", "507 with the reason %q", record.Reason)
				}
				return record.Code == http.StatusInsufficientStorage
			}
			gatewaytest.Until(r.TB, "507 StorageFull", full)
			if a := r.Ask(0, http.MethodGet, Scope{}.URL("limit", "1"), ""); a.Code != http.StatusOK {
				r.Violate("storage-full", "gateway 0", "a list is answered with %d", a.Code)
			}
			if a := r.Ask(0, http.MethodDelete, "/api/v1/namespaces/full/configmaps/filler-1", ""); a.Code != http.StatusOK {
				r.Violate("storage-full", "gateway 0", "a delete is answered with %d: %s", a.Code, a.Text)
			}
			r.Wait(time.Duration(seconds) * time.Second)
			r.Fault("etcd is compacted and defragmented, and its alarm disarmed")
			if _, err := r.etcd.deleteAll(r.Context(), prefix+"full/"); err != nil {
				r.Fatal(err)
			}
			r.Compact(r.newest())
			if err := r.etcd.recoverSpace(r.Context()); err != nil {
				r.Fatal(err)
			}
			r.Wait(4 * time.Second)
		},
	},
	{
		// Clients that hold revisions from before come back all at once.
		Name: "restart-crowd", Quick: true, Etcd: 1, Gateways: 1, Seconds: [2]int{500, 1000},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429}, Events: 5000, Resumes: 400, Faults: 1, Acknowledged: 20},
		Play: func(r *Run, clients int) {
			r.Watch(Crowd(clients)...)
			r.Write(2)
			r.Wait(4 * time.Second)
			r.Fault("the gateway is killed and started again while all clients wait")
			gw, etcd := r.gateways[0], r.cluster.Members[0].Endpoint
			gw.Kill(r.TB)
			r.Wait(2 * time.Second)
			watches := func() float64 {
				return r.metric(etcd, `grpc_server_started_total{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"}`)
			}
			before := watches()
			gw.life.Add(1)
			gw.Restart(r.TB)
			gatewaytest.Until(r.TB, "all clients are back", func() bool { return r.opened.Load() >= int64(len(r.watchers)*95/100) })
			r.Wait(3 * time.Second)
			resources := r.served(0)
			r.Note("%d clients came back with %.0f watches in etcd, for %d resources", clients, watches()-before, resources)
			if got := watches() - before; got > float64(resources)+4 {
				r.Violate("no-storm", "gateway 0", "%d clients cost %.0f watches in etcd, want one for each of the %d resources", clients, got, resources)
			}
		},
	},
	{
		// A client of something that never changes has nothing but bookmarks to resume with.
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
		Name: "drain", Quick: true, Etcd: 1, Gateways: 2, Seconds: [2]int{400, 1000},
		Rules: Rules{Ends: []End{Unreachable}, Codes: []int{429}, Events: 2000, Resumes: 200, Faults: 2, Acknowledged: 20},
		Play: func(r *Run, clients int) {
			r.Watch(Crowd(clients)...)
			r.Write(4)
			r.Wait(2 * time.Second)
			for _, gw := range r.gateways {
				r.Fault("SIGTERM to %s", gw.URL)
				if code := gw.Stop(r.TB); code != 0 {
					r.Violate("graceful-stop", gw.URL, "exit code %d", code)
				}
				gw.life.Add(1)
				gw.Restart(r.TB)
				r.Wait(time.Second)
			}
			r.paced(clients)
		},
	},
	{
		// The cache is filled anew again and again, because a compaction has overtaken it, while clients open watches all the time.
		Name: "rebuilds", Etcd: 1, Gateways: 2, Proxied: true, Seconds: [2]int{15, 180},
		Rules: Rules{Codes: []int{429, 503, 504}, Events: 5000, Resumes: 1000, Faults: 4, Acknowledged: 50},
		Play: func(r *Run, seconds int) {
			clients := Crowd(300)
			for i := range clients {
				clients[i].Timeout, clients[i].Stay = time.Second, i%3 == 0
			}
			r.Watch(clients...)
			r.Write(6)
			road := r.gateways[0].proxies[0]
			for range seconds / 3 {
				r.Fault("gateway 0 is cut off while etcd is compacted")
				road.Swallow()
				before := r.history().Truth.Through()
				gatewaytest.Until(r.TB, "writes", func() bool { return r.history().Truth.Through() > before+5 })
				r.Compact(r.history().Truth.Through())
				road.Cut()
				road.Heal()
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
