package flowcontrol

import (
	"cmp"
	"slices"
	"time"
)

// View is the state of all pools in the response of /debug/flows.
type View struct {
	Resources []ResourceView `json:"resources"`
	Flows     []FlowView     `json:"flows"`
}

// ResourceView is the state of one pool.
type ResourceView struct {
	Resource string `json:"resource"`
	Seats    int64  `json:"seats"`             // zero: no limit for all together
	PerFlow  int64  `json:"perFlow,omitempty"` // zero: no limit but the share
	InUse    int64  `json:"inUse"`
	Waiting  int    `json:"waiting"`
}

// FlowView is what one user holds and waits for in a pool.
type FlowView struct {
	User         string     `json:"user"`
	Resource     string     `json:"resource"`
	InUse        int64      `json:"inUse"`
	Waiting      int        `json:"waiting"`
	Rejected     uint64     `json:"rejected"`
	Reason       string     `json:"reason,omitempty"` // of the last rejection
	Because      string     `json:"because,omitempty"`
	LastRejected *time.Time `json:"lastRejected,omitempty"`
}

// View returns the state of the pools, with the flows that hold or wait for something or were held back lately; those that hold most come
// first.
func (p *Pools) View() View {
	out := View{Flows: []FlowView{}}
	for _, pool := range p.All() {
		if pool == nil {
			out.Resources = append(out.Resources, ResourceView{})
			continue
		}
		resource, flows := pool.view()
		out.Resources = append(out.Resources, resource)
		out.Flows = append(out.Flows, flows...)
	}
	return out
}

func (p *Pool) view() (ResourceView, []FlowView) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var flows []FlowView
	for _, f := range p.flows {
		v := FlowView{User: f.user, Resource: p.config.Resource, InUse: f.held, Waiting: f.queue.Len(), Rejected: f.rejected}
		if f.rejected > 0 {
			at := f.rejectedAt.UTC()
			v.Reason, v.Because, v.LastRejected = f.reason, reasons[f.reason], &at
		}
		if v.InUse != 0 || v.Waiting > 0 || v.Rejected > 0 {
			flows = append(flows, v)
		}
	}
	slices.SortFunc(flows, func(a, b FlowView) int {
		return cmp.Or(cmp.Compare(b.InUse, a.InUse), cmp.Compare(b.Rejected, a.Rejected), cmp.Compare(a.User, b.User))
	})
	return ResourceView{p.config.Resource, p.config.Seats, p.config.PerFlow, p.used, p.waiting}, flows
}
