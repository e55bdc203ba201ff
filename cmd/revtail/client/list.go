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

// Query says which objects.
type Query struct {
	Resource  Resource
	Namespace string // empty: all
	Name      string // empty: all
	Labels    string // selector
	Fields    string // selector
	Filter    string // expression
	Revision  int64  // of lists: as of then; zero: now
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

// Object is an object as the gateway sent it.
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

// List is the objects that match, all as of one revision.
type List struct {
	Revision int64
	Objects  []Object
}

// pageSize is how many objects are asked for at once.
const pageSize = 500

// List reads all pages.
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
			o, err := newObject(typed(item, q.Resource))
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

// typed gives an item of a list its type, where the list has left it out, so that it is the same document as in a watch.
func typed(item json.RawMessage, r Resource) json.RawMessage {
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

// Table reads all pages as the table that the gateway makes for people.
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

// pages reads one page after the other. When those that follow have expired, it begins again, once.
func (c *Client) pages(ctx context.Context, q Query, accept string, begin func(), read func(json.RawMessage) (metav1.ListMeta, error)) error {
	values := q.values()
	values.Set("limit", strconv.Itoa(pageSize))
	first := func() {
		begin()
		values.Del("continue")
		if q.Revision > 0 {
			values.Set("resourceVersion", strconv.FormatInt(q.Revision, 10))
			values.Set("resourceVersionMatch", "Exact")
		}
	}
	first()
	for again := false; ; {
		var page json.RawMessage
		err := c.get(ctx, q.path(), values, accept, &page)
		if hasCode(err, http.StatusGone) && values.Has("continue") && !again {
			again = true
			first()
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
