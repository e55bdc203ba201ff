package client

import "net/url"

// Query selects objects.
type Query struct {
	Resource  Resource
	Namespace string // empty: all
	Name      string // empty: all
	Labels    string // label selector
	Fields    string // field selector
	Filter    string // CEL expression
	Revision  int64  // the state of a list is as of this revision of etcd; zero: now
}

func (q Query) path() string { return q.Resource.path(q.Namespace) }

func (q Query) values() url.Values {
	fields := q.Fields
	if q.Name != "" {
		if fields != "" {
			fields += ","
		}
		fields += "metadata.name=" + q.Name
	}
	out := url.Values{}
	if q.Labels != "" {
		out.Set("labelSelector", q.Labels)
	}
	if fields != "" {
		out.Set("fieldSelector", fields)
	}
	if q.Filter != "" {
		out.Set("filter", q.Filter)
	}
	return out
}
