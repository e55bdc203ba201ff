package robustness

import (
	"time"
)

// networkScenarios have faults of the network between gateways and etcd.
var networkScenarios = []Scenario{
	{
		// The packets from the gateway to etcd, and from etcd to the gateway, are lost. Its clients must use the other gateway.
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
			r.Fault("the network is healed")
			for _, p := range r.gateways[0].proxies {
				p.Heal()
			}
			r.back(0)
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
			r.Fault("the network is healed")
			r.gateways[0].proxies[0].Heal()
			r.gateways[0].proxies[1].Heal()
			r.Wait(3 * time.Second)
		},
	},
	{
		Name: "slow-network", Etcd: 3, Gateways: 2, Proxied: true, Seconds: [2]int{15, 30},
		Rules: Rules{Events: 1000, Faults: 1, Acknowledged: 50},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(80)...)
			r.Write(12)
			r.Wait(2 * time.Second)
			r.Fault("the connections of gateway 0 to two members have a delay of 500 ms")
			r.gateways[0].proxies[0].Delay(500 * time.Millisecond)
			r.gateways[0].proxies[1].Delay(500 * time.Millisecond)
			r.Wait(time.Duration(seconds) * time.Second)
		},
	},
}
