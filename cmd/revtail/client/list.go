package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// Object is an object and the metadata that the client needs.
type Object struct {
	Namespace, Name string
	Revision        int64
	JSON            json.RawMessage
}

func newObject(text json.RawMessage) (Object, error) {
	var read struct {
		Metadata struct{ Namespace, Name, ResourceVersion string }
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return Object{}, fmt.Errorf("an object: %w", err)
	}
	revision, err := strconv.ParseInt(read.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		return Object{}, fmt.Errorf("resourceVersion of %s: %w", read.Metadata.Name, err)
	}
	return Object{read.Metadata.Namespace, read.Metadata.Name, revision, text}, nil
}

// key identifies the object among those of a resource.
func (o Object) key() string { return o.Namespace + "/" + o.Name }

// List has the objects that match a query, as of one revision.
type List struct {
	Revision int64
	Objects  []Object
}

// pageSize is the limit parameter of a list request.
const pageSize = 500

// List reads all pages of a list.
func (c *Client) List(ctx context.Context, q Query) (List, error) {
	var out List
	lists, err := pages[metav1.List](ctx, c, q, "application/json")
	if err != nil {
		return out, err
	}
	for _, list := range lists {
		for _, item := range list.Items {
			o, failed := newObject(withType(item.Raw, q.Resource))
			if failed != nil {
				return out, fmt.Errorf("%s: %w", q.path(), failed)
			}
			out.Objects = append(out.Objects, o)
		}
	}
	if out.Revision, err = strconv.ParseInt(lists[len(lists)-1].ResourceVersion, 10, 64); err != nil {
		return out, fmt.Errorf("%s: %w", q.path(), err)
	}
	return out, nil
}

// withType adds kind and apiVersion to an item of a list that lacks them, so that it equals the object of a watch event.
func withType(item json.RawMessage, r Resource) json.RawMessage {
	var read metav1.TypeMeta
	if json.Unmarshal(item, &read) != nil || read.Kind != "" || len(item) < 2 {
		return item
	}
	head := fmt.Sprintf(`{"kind":%q,"apiVersion":%q`, r.Kind, r.APIVersion())
	if string(item) != "{}" {
		head += ","
	}
	return append(json.RawMessage(head), item[1:]...)
}

// Table reads all pages as a Table, as kubectl get does.
func (c *Client) Table(ctx context.Context, q Query) (metav1.Table, error) {
	tables, err := pages[metav1.Table](ctx, c, q, "application/json;as=Table;v=v1;g=meta.k8s.io")
	var out metav1.Table
	for _, table := range tables {
		if len(table.ColumnDefinitions) > 0 {
			out.ColumnDefinitions = table.ColumnDefinitions
		}
		out.Rows = append(out.Rows, table.Rows...)
	}
	return out, err
}

// pages reads one page after the other. When the continue token expires, it starts again, once.
func pages[T any, P interface {
	*T
	metav1.ListInterface
}](ctx context.Context, c *Client, q Query, accept string) (all []T, err error) {
	next := ""
	for restarted := false; ; {
		values := q.values()
		values.Set("limit", strconv.Itoa(pageSize))
		switch {
		case next != "":
			values.Set("continue", next)
		case q.Revision > 0:
			values.Set("resourceVersion", strconv.FormatInt(q.Revision, 10))
			values.Set("resourceVersionMatch", "Exact")
		}
		var page T
		err := c.get(ctx, q.path(), values, accept, &page)
		if HasCode(err, http.StatusGone) && next != "" && !restarted {
			restarted, next, all = true, "", nil
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, page)
		if next = P(&page).GetContinue(); next == "" {
			return all, nil
		}
	}
}
