package main

import "fmt"

// replicaRows are the rows of the comparison of a replica with its kube-apiserver, in order.
func replicaRows(s size) []versus {
	const fewAhead = 8 // events, because a kube-apiserver ends watches that are slower
	var all []versus
	for _, t := range []struct {
		transport
		name, what string
	}{{tls11, "tls", "TLS HTTP/1.1"}, {http2, "http2", "HTTP/2"}} {
		title := func(load string) string {
			return fmt.Sprintf("Replica: %s to %s watchers, %s", load, thousands(float64(s.watchers)), t.what)
		}
		all = append(all,
			replicaFanOut("replica-fanout-"+t.name, title("saturated"), t.transport, s.watchers, load{events: s.events, ahead: fewAhead}, []aspect{
				{what: "CPU a delivery", metric: "cpu", unit: "µs"},
				{what: "deliveries", metric: "rate", unit: "/s", more: true},
			}),
			replicaFanOut("replica-paced-"+t.name, title("10 events/s"), t.transport, s.watchers, load{events: s.paced * 10, rate: 10}, pacedAspects()))
	}
	for _, t := range []struct {
		transport
		name string
	}{{tls11, "tls"}, {http2, "http2"}} {
		title := fmt.Sprintf("Replica: idle watch, %s of them after %v of rest, %s", thousands(float64(s.idle[t.transport])), s.settle, t.transport)
		all = append(all, replicaIdle("replica-idle-"+t.name, title, t.transport, s, []aspect{{what: "memory of one", metric: "memory", unit: "KB"}}))
	}
	return append(all, replicaMoves(s)...)
}

// replicaMoves are the rows about the whole processes.
func replicaMoves(s size) []versus {
	const (
		asks   = "Each user's token and rights are reviewed by the kube-apiserver every 10 s while watches are open."
		own    = "A kube-apiserver without watchers follows etcd for its own caches, and has its types, schemas and controllers."
		second = "Reviews cost both, for each user; and the replica has a watch of etcd and a cache of its own beside the kube-apiserver's."
		pods   = "revtail keeps an object as JSON, which is larger than its protobuf in etcd, and a kube-apiserver keeps it decoded."
	)
	aspects := []aspect{
		{what: "CPU of the kube-apiserver", metric: "kubernetes", unit: "ms/s", besideKubernetes: asks},
		{what: "CPU of both", metric: "both", unit: "ms/s", besideKubernetes: second},
		{what: "RSS of the kube-apiserver", metric: "rss", unit: "MB", besideKubernetes: own},
	}
	move := func(users string) string {
		return fmt.Sprintf("Replica: %s watchers of %s watch at the server of the column, 10 events/s, HTTP/2", thousands(float64(s.watchers)), users)
	}
	return []versus{
		replicaMove("replica-move", move("one user"), sameUser, s, aspects),
		replicaMove("replica-move-users", move("as many users"), ownUser, s, aspects),
		replicaPods("replica-pods", fmt.Sprintf("Replica: %s Pods, listed in pages", thousands(float64(s.pods))), s, []aspect{
			{what: "RSS at the start", metric: "before", unit: "MB", besideKubernetes: own},
			{what: fmt.Sprintf("RSS after a list and %v of rest", podRest*s.settle), metric: "rss", unit: "MB", besideKubernetes: pods},
			{what: "peak RSS", metric: "peak", unit: "MB", besideKubernetes: pods},
		}),
	}
}
