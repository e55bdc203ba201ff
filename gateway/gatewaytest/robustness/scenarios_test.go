package robustness

import (
	"time"
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
}
