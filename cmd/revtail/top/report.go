package top

import (
	"cmp"
	"slices"
	"time"
)

// report is what top shows, and prints as JSON. Rates are per second, of the time between two samples.
type report struct {
	Time     time.Time `json:"time"`
	Gateways []gateway `json:"gateways"`
	Etcd     etcd      `json:"etcd"`
	Watches  []watches `json:"watches"`
	Users    []user    `json:"users"`
	Slow     []slow    `json:"slow"`
	Caches   []cache   `json:"caches"`
	Notes    []string  `json:"notes"` // what is wrong, and what cannot be seen
}

type gateway struct {
	Server      string  `json:"server"`
	State       string  `json:"state"` // ready, not ready, or down
	Watches     int     `json:"watches"`
	Late        int     `json:"late"` // watches whose clients have not taken what was written
	SlowestLag  float64 `json:"slowestLagSeconds"`
	Events      float64 `json:"eventsPerSecond"`
	Bytes       float64 `json:"bytesPerSecond"`
	InFlight    int     `json:"requestsInFlight"`
	Writes      int     `json:"writesInFlight"`
	Waiting     int     `json:"requestsWaiting"`
	Refused     float64 `json:"refusedPerSecond"`
	Processor   float64 `json:"processors"` // that are busy
	MemoryBytes int64   `json:"memoryBytes"`
	CachesLate  int64   `json:"cachesBehindRevisions"`
}

type etcd struct {
	Revision int64    `json:"revision"`
	Latency  float64  `json:"rangeSeconds"` // the mean of the reads
	Alarms   []string `json:"alarms"`
	Members  []member `json:"members"`
}

type member struct {
	Endpoint string `json:"endpoint"`
	State    string `json:"state"` // leader, follower or down
	Size     int64  `json:"databaseBytes"`
	InUse    int64  `json:"databaseInUseBytes"`
	Quota    int64  `json:"quotaBytes"`
}

// watches are the watches of a user on a resource.
type watches struct {
	User     string  `json:"user"`
	Resource string  `json:"resource"`
	Watches  int     `json:"watches"`
	Late     int     `json:"late"`
	Lag      float64 `json:"lagSeconds"`
	Events   float64 `json:"eventsPerSecond"`
	Bytes    float64 `json:"bytesPerSecond"`
}

// user is what a user holds of the shares.
type user struct {
	User      string  `json:"user"`
	InFlight  int64   `json:"requestsInFlight"`
	Writes    int64   `json:"writesInFlight"`
	Watches   int64   `json:"watches"`
	Waiting   int     `json:"waiting"`
	Refused   float64 `json:"refusedPerSecond"`
	Processor float64 `json:"processors"`
	Because   string  `json:"because,omitempty"` // of the last refusal
}

// slow is a watch whose client has not taken what was written.
type slow struct {
	User     string  `json:"user"`
	Client   string  `json:"client"`
	Path     string  `json:"path"`
	Lag      float64 `json:"lagSeconds"`
	Revision int64   `json:"revision"` // of the last event
}

type cache struct {
	Server   string `json:"server"`
	Resource string `json:"resource"`
	Ready    bool   `json:"ready"`
	Objects  int64  `json:"objects"`
	Bytes    int64  `json:"bytes"`
	Behind   int64  `json:"behindRevisions"` // the revision of etcd
}

// newReport compares two samples of each gateway.
func newReport(sources []source, before, now []*sample) report {
	out := report{Time: now[0].at.UTC(), Gateways: []gateway{}, Watches: []watches{}, Users: []user{}, Slow: []slow{}, Caches: []cache{}, Notes: []string{}}
	out.Etcd = etcd{Alarms: []string{}, Members: []member{}}
	byWatch, byUser := make(map[[2]string]*watches), make(map[string]*user)
	for i, source := range sources {
		step := step{name: source.name, before: before[i], now: now[i]}
		step.seconds = max(now[i].at.Sub(before[i].at).Seconds(), 0.001)
		out.Gateways = append(out.Gateways, step.gateway())
		out.Notes = append(out.Notes, step.notes()...)
		out.Caches = append(out.Caches, step.caches()...)
		out.Slow = append(out.Slow, step.slow()...)
		step.addWatches(byWatch)
		step.addUsers(byUser)
		step.addEtcd(&out.Etcd)
	}
	for _, w := range byWatch {
		out.Watches = append(out.Watches, *w)
	}
	for _, u := range byUser {
		out.Users = append(out.Users, *u)
	}
	slices.SortFunc(out.Watches, func(a, b watches) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Resource, b.Resource))
	})
	slices.SortFunc(out.Users, func(a, b user) int { return cmp.Compare(a.User, b.User) })
	return out
}
