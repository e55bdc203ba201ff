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
	err := c.pages(ctx, q, "application/json", func() { out.Objects = nil }, func(page json.RawMessage) (metav1.ListMeta, error) {
		var list struct {
			Metadata metav1.ListMeta
			Items    []json.RawMessage
		}
		if err := json.Unmarshal(page, &list); err != nil {
			return list.Metadata, err
		}
		for _, item := range list.Items {
			o, err := newObject(withType(item, q.Resource))
			if err != nil {
				return list.Metadata, err
			}
			out.Objects = append(out.Objects, o)
		}
		var err error
		out.Revision, err = strconv.ParseInt(list.Metadata.ResourceVersion, 10, 64)
		return list.Metadata, err
	})
	return out, err
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
	var out metav1.Table
	err := c.pages(ctx, q, "application/json;as=Table;v=v1;g=meta.k8s.io", func() { out.Rows = nil }, func(page json.RawMessage) (metav1.ListMeta, error) {
		var table metav1.Table
		err := json.Unmarshal(page, &table)
		if len(table.ColumnDefinitions) > 0 {
			out.ColumnDefinitions = table.ColumnDefinitions
		}
		out.Rows = append(out.Rows, table.Rows...)
		return table.ListMeta, err
	})
	return out, err
}

// pages calls read for one page after the other. When the continue token expires, it calls begin and starts again, once.
func (c *Client) pages(ctx context.Context, q Query, accept string, begin func(), read func(json.RawMessage) (metav1.ListMeta, error)) error {
	values := q.values()
	values.Set("limit", strconv.Itoa(pageSize))
	start := func() {
		begin()
		values.Del("continue")
		if q.Revision > 0 {
			values.Set("resourceVersion", strconv.FormatInt(q.Revision, 10))
			values.Set("resourceVersionMatch", "Exact")
		}
	}
	start()
	for restarted := false; ; {
		var page json.RawMessage
		err := c.get(ctx, q.path(), values, accept, &page)
		if HasCode(err, http.StatusGone) && values.Has("continue") && !restarted {
			restarted = true
			start()
			continue
		}
		if err != nil {
			return err
		}
		meta, err := read(page)
		if err != nil {
			return fmt.Errorf("%s: %w", q.path(), err)
		}
		if meta.Continue == "" {
			return nil
		}
		values.Del("resourceVersion")
		values.Del("resourceVersionMatch")
		values.Set("continue", meta.Continue)
	}
}
