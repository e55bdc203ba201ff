package main

import (
	"fmt"
	"slices"
)

// versusRows are the rows of the comparison, in order.
func versusRows(s size) []versus {
	return slices.Concat(versusFanOuts(s), versusIdles(s), versusLists(s), versusStates(s))
}

func versusFanOuts(s size) []versus {
	const (
		fewAhead   = 8   // events, because a kube-apiserver ends watches that are slower
		fewWatches = 100 // because a kube-apiserver does not keep up with more on two processors
		shared     = "The rate is that of two processors, of which the clients take the rest: null is little faster."
	)
	var all []versus
	for _, t := range []struct {
		transport
		name, what string
	}{
		{plain, "plain", "HTTP/1.1 (kube-apiserver: over TLS)"}, {tls11, "tls", "TLS HTTP/1.1"}, {http2, "http2", "HTTP/2 over TLS"},
	} {
		few := min(fewWatches, s.watchers)
		title := func(load string, watchers int) string {
			return fmt.Sprintf("%s to %s watchers, %s", load, thousands(float64(watchers)), t.what)
		}
		all = append(all,
			versusFanOut("fanout-"+t.name, title("Saturated", s.watchers), t.transport, s.watchers, load{events: s.events, ahead: fewAhead}, []aspect{
				{what: "CPU a delivery", metric: "cpu", unit: "µs"},
				{what: "deliveries", metric: "rate", unit: "/s", more: true, besideKubernetes: shared},
			}),
			versusFanOut("steady-"+t.name, title("200 events/s", few), t.transport, few, load{events: s.steady * 200, rate: 200}, pacedAspects()),
			versusFanOut("paced-"+t.name, title("10 events/s", s.watchers), t.transport, s.watchers, load{events: s.paced * 10, rate: 10}, pacedAspects()))
	}
	return all
}

func pacedAspects() []aspect {
	const (
		own  = "A delivery is a write of its own for each watcher over HTTP/1.1, as it is for null."
		turn = "Over HTTP/1.1 each watcher costs a write of its own, one after the other on two processors that the clients share."
	)
	return []aspect{
		{what: "CPU a delivery", metric: "cpu", unit: "µs", besideKubernetes: own},
		{what: "p99 from acknowledgement to the last watcher", metric: "p99", unit: "ms", besideKubernetes: turn, besideNull: turn},
	}
}

func versusIdles(s size) []versus {
	title := func(t transport) string {
		return fmt.Sprintf("Idle watch, %s of them after %v of rest, %s", thousands(float64(s.idle[t])), s.settle, t)
	}
	aspects := []aspect{{what: "memory of one", metric: "memory", unit: "KB"}}
	return []versus{
		versusIdle("idle-tls", title(tls11), tls11, aspects),
		versusIdle("idle-http2", title(http2), http2, aspects),
	}
}

func versusLists(s size) []versus {
	var all []versus
	for i, name := range []string{"list-small", "list-large"} {
		var aspects []aspect
		for _, form := range listForms {
			for _, clients := range []int{1, manyClients} {
				what := fmt.Sprintf("%s, %d at once: ", form.name, clients)
				aspects = append(aspects,
					aspect{what + "CPU a list", form.metric(clients, "each"), "ms", false, form.besideKubernetes, form.besideNull},
					aspect{what + "rate", form.metric(clients, "rate"), "MB/s", true, form.besideKubernetes, form.besideNull})
			}
		}
		title := fmt.Sprintf("Lists of %s objects, TLS HTTP/1.1", thousands(float64(s.objects[i])))
		all = append(all, versusList(name, title, s.objects[i], listForms, aspects))
	}
	return all
}

func versusStates(s size) []versus {
	const frames = "null sends prepared bytes in large writes; revtail makes each object the frame of an event."
	watches, objects := s.initial[0], s.initial[1]
	return []versus{
		versusInitial("initial", fmt.Sprintf("Initial events, %d watches of %s objects, TLS HTTP/1.1", watches, thousands(float64(objects))), watches, objects, []aspect{
			{what: "CPU an event", metric: "cpu", unit: "µs", besideNull: frames},
			{what: "events", metric: "events", unit: "/s", more: true, besideNull: frames},
		}),
		versusWrites("create", "Create, TLS HTTP/1.1", creates, writeAspects()),
		versusWrites("update", "Update, TLS HTTP/1.1", updates, writeAspects()),
		versusStart("start", fmt.Sprintf("Start before an etcd with %s objects", thousands(float64(s.objects[0]))), s.objects[0], []aspect{
			{what: "ready", metric: "ready", unit: "s"},
			{what: "first list complete", metric: "list", unit: "s"},
			{what: "CPU until then", metric: "cpu", unit: "s"},
		}),
	}
}

func writeAspects() []aspect {
	const (
		least = "A write is validated, is a transaction of etcd, and is an event of its watch; null is a put alone."
		lone  = "Most of a lone write is etcd's transaction, and waking processes that rest, which both servers have."
	)
	return []aspect{
		{what: "64 writers: CPU a write", metric: "own", unit: "µs"},
		{what: "64 writers: CPU a write, with etcd", metric: "cpu", unit: "µs", besideNull: least},
		{what: "64 writers: writes", metric: "rate", unit: "/s", more: true, besideNull: least},
		{what: "1 writer: CPU a write", metric: "own-alone", unit: "µs"},
		{what: "1 writer: CPU a write, with etcd", metric: "alone", unit: "µs", besideKubernetes: lone, besideNull: least},
		{what: "1 writer: p50", metric: "p50", unit: "ms", besideKubernetes: lone, besideNull: least},
	}
}
