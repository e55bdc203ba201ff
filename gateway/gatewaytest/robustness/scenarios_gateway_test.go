package robustness

import (
	"time"

	"revtail/gateway/gatewaytest"
)

// gatewayScenarios have faults of the gateways themselves.
var gatewayScenarios = []Scenario{
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
		// Clients with older revisions reconnect all at once.
		Name: "restart-crowd", Quick: true, Etcd: 1, Gateways: 1, Seconds: [2]int{500, 1000},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429}, Events: 5000, Resumes: 400, Faults: 1, Acknowledged: 20},
		Play: func(r *Run, clients int) {
			crowd := Crowd(clients)
			r.Watch(crowd...)
			r.Write(2)
			r.Wait(4 * time.Second)
			r.Fault("the gateway is killed and started again while all clients wait")
			gw, etcd := r.gateways[0], r.cluster.Members[0].Endpoint
			gw.Kill(r.TB)
			r.Wait(2 * time.Second)
			watches := func() float64 {
				return r.metric(etcd, `grpc_server_started_total{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"}`)
			}
			ranges := func() float64 {
				return r.metric(etcd, `grpc_server_started_total{grpc_method="Range",grpc_service="etcdserverpb.KV",grpc_type="unary"}`)
			}
			before, read := watches(), ranges()
			gw.life.Add(1)
			gw.Restart(r.TB)
			gatewaytest.Until(r.TB, "all clients are back", func() bool { return r.opened.Load() >= int64(len(r.watchers)*95/100) })
			r.Wait(3 * time.Second)
			resources := r.served(0)
			r.Note("%d clients came back with %.0f watches and %.0f reads in etcd, those of writers and lists included, for %d resources",
				clients, watches()-before, ranges()-read, resources)
			keys := make(map[string]bool) // each range of the keys API has one watch
			for _, c := range crowd {
				if c.Dialect == Keys {
					keys[c.Scope.keys()] = true
				}
			}
			if got := watches() - before; got > 2*float64(resources+len(keys))+4 {
				r.Violate("no-storm", "gateway 0", "%d clients cost %.0f watches in etcd, want two, one that looks back and one that follows, for each of the %d resources and %d ranges", clients, got, resources, len(keys))
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
		Name: "frozen-gateway", Etcd: 1, Gateways: 2, Seconds: [2]int{15, 30},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429, 503, 504}, Events: 2000, Faults: 2, Acknowledged: 100},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(80)...)
			r.Write(20)
			r.Wait(2 * time.Second)
			r.Fault("gateway 0 is frozen, and etcd is compacted meanwhile")
			r.gateways[0].Freeze(r.TB)
			r.Wait(time.Duration(seconds) * time.Second)
			r.Compact(r.history().Truth.Through())
			r.Wait(time.Second)
			r.Fault("it goes on")
			r.gateways[0].Thaw(r.TB)
			r.Wait(4 * time.Second)
		},
	},
}
