package watch

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/http/response"
)

// watcherView is one watch in the response of /debug/watchers.
type watcherView struct {
	Resource string             `json:"resource"`
	Path     string             `json:"path"`
	Query    string             `json:"query"`
	User     string             `json:"user,omitempty"`
	Client   string             `json:"client"`
	Agent    string             `json:"agent"`
	Since    time.Time          `json:"since"`
	Revision etcdstore.Revision `json:"revision"` // of the last sent event; zero: no event was sent
	Cache    etcdstore.Revision `json:"cacheRevision"`
	Events   uint64             `json:"events"`
	Bytes    uint64             `json:"bytes"`
	Lag      float64            `json:"lagSeconds"` // for how long the client has left written data unread; zero: it has read everything
}

// ServeWatchers answers with a JSON list of the open watches, sorted by lag in descending order. It authenticates no request: the caller
// mounts it behind authentication, or on the operators' listener.
func (s *Service) ServeWatchers(w http.ResponseWriter, r *http.Request) {
	now := time.Now()
	views := []watcherView{}
	for _, t := range s.Stats.list() {
		sent := t.sum()
		views = append(views, watcherView{
			Resource: t.resource, Path: t.Path, Query: t.query, User: t.user, Client: t.client, Agent: t.agent, Since: t.since.UTC(),
			Revision: etcdstore.Revision(t.through.Load()), Cache: t.cache.Stats().Revision,
			Events: sent.Events, Bytes: sent.Bytes, Lag: t.blockedFor(now).Seconds(),
		})
	}
	slices.SortStableFunc(views, func(a, b watcherView) int { return cmp.Compare(b.Lag, a.Lag) })
	text, err := json.Marshal(struct {
		Watchers []watcherView `json:"watchers"`
	}{views})
	if err != nil {
		s.Responder.Error(w, r, err)
		return
	}
	response.WriteJSON(w, r, http.StatusOK, text)
}
