package robustness

import (
	"net/http"
	"strings"
	"time"

	"revtail/gateway/gatewaytest"
)

// etcdScenarios have faults of the members of etcd.
var etcdScenarios = []Scenario{
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
			r.Wait(6 * time.Second) // the remaining member ends streams only after some time without a leader
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
		// A member that a gateway uses is frozen, and keeps its connections.
		Name: "frozen-member", Quick: true, Etcd: 3, Gateways: 2, Seconds: [2]int{25, 60},
		Rules: Rules{Codes: []int{429, 503, 504}, Events: 2000, Faults: 2, Acknowledged: 100},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(80)...)
			r.Write(10)
			r.Wait(2 * time.Second)
			leader := r.Leader()
			r.Fault("the leader %s is frozen", leader.Endpoint)
			leader.Freeze(r.TB)
			r.Wait(time.Duration(seconds) * time.Second)
			r.Fault("it goes on")
			leader.Thaw(r.TB)
			r.Wait(3 * time.Second)
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
			r.Compact(r.Newest())
			if err := r.etcd.recoverSpace(r.Context()); err != nil {
				r.Fatal(err)
			}
			r.Wait(4 * time.Second)
		},
	},
}
