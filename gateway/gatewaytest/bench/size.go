package main

import "time"

// size is the amount of work.
type size struct {
	watchers      int // of the fan-out
	events        int // at saturation, plain
	paced, steady int // seconds of 10 and of 200 events a second
	idle          map[transport]int
	settle        time.Duration // how long memory may take to settle
	selectors     int           // watchers that each select another value
	unmatched     load          // published meanwhile
	objects       [2]int        // of the lists
	lists         time.Duration // duration of the lists
	cached        int           // objects in the cache
	initial       [2]int        // watchers and objects of initial events
	writes        time.Duration // duration of the writes
	resourceTypes int
	moved         int // seconds of the events while the watchers of a kube-apiserver are at its replica
	pods          int // in the cluster of a replica
}

func fullSize() size {
	return size{
		watchers: 1000, events: 3000, paced: 5, steady: 3,
		idle:   map[transport]int{plain: 10_000, tls11: 2000, http2: 5000},
		settle: 2 * time.Second, selectors: 5000, unmatched: load{events: 3000, rate: 1000},
		objects: [2]int{10_000, 50_000}, lists: 1500 * time.Millisecond, cached: 50_000, initial: [2]int{100, 10_000},
		writes: time.Second, resourceTypes: 200,
	}
}

// kubernetesSize is that of the comparison with kube-apiserver; quick finds what is broken.
func kubernetesSize(quick bool) size {
	s := size{
		watchers: 1000, events: 300, paced: 5, steady: 3, idle: map[transport]int{plain: 1000, tls11: 1000, http2: 1000},
		settle: 20 * time.Second, objects: [2]int{20_000, 100_000}, lists: 1500 * time.Millisecond, initial: [2]int{50, 20_000},
		writes: time.Second, moved: 20, pods: 100_000,
	}
	if quick {
		s.watchers, s.events, s.paced, s.steady = 100, 100, 1, 1
		s.idle = map[transport]int{plain: 200, tls11: 200, http2: 200}
		s.settle, s.lists, s.writes = time.Second, 300*time.Millisecond, 300*time.Millisecond
		s.objects, s.initial = [2]int{1000, 5000}, [2]int{10, 1000}
		s.moved, s.pods = 2, 2000
	}
	return s
}

// quickSize finds defects and large regressions; its figures are not compared with the goals.
func quickSize() size {
	return size{
		watchers: 500, events: 1500, paced: 2, steady: 2,
		idle:   map[transport]int{plain: 10_000, tls11: 1000, http2: 2000},
		settle: time.Second, selectors: 2000, unmatched: load{events: 1000, rate: 1000},
		objects: [2]int{2000, 10_000}, lists: 500 * time.Millisecond, cached: 10_000, initial: [2]int{50, 2000},
		writes: time.Second / 2, resourceTypes: 50,
	}
}
