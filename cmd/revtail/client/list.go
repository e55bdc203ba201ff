package client

import (
	"cmp"
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
	At        string // the state is as of this time, as the gateway reads it: -10m or 2026-11-20T02:13:05Z; empty: now
	PageSize  int    // objects per request; zero: DefaultPageSize, OnePage: all

	Rows    bool // List and Follower read the rows of a Table instead of objects
	Objects bool // rows have complete objects, instead of their metadata
}

func (q Query) path() string { return q.Resource.Path(q.Namespace) }

// isGet reports whether the query is a request for one object, which needs the right to get instead of list.
func (q Query) isGet() bool {
	return q.Name != "" && q.Labels+q.Fields+q.Filter == "" && q.Revision == 0 && (q.Namespace != "" || !q.Resource.Namespaced)
}

func (q Query) values() url.Values {
	fields := q.Fields
	if q.Name != "" {
		if fields != "" {
			fields += ","
		}
		fields += "metadata.name=" + q.Name
	}
	out := url.Values{}
	for name, value := range map[string]string{"labelSelector": q.Labels, "fieldSelector": fields, "filter": q.Filter} {
		if value != "" {
			out.Set(name, value)
		}
	}
	if q.Objects {
		out.Set("includeObject", "Object")
	}
	return out
}

// pageValues are the values of the page with a continue token; empty: of the first one.
func (q Query) pageValues(next string) url.Values {
	values := q.values()
	if q.PageSize != OnePage {
		values.Set("limit", strconv.Itoa(cmp.Or(q.PageSize, DefaultPageSize)))
	}
	switch {
	case next != "":
		values.Set("continue", next)
	case q.At != "":
		values.Set("at", q.At)
	case q.Revision > 0:
		values.Set("resourceVersion", strconv.FormatInt(q.Revision, 10))
		values.Set("resourceVersionMatch", "Exact")
	}
	return values
}

// accept is the media type of the response.
func (q Query) accept() string {
	if q.Rows {
		return "application/json;as=Table;v=v1;g=meta.k8s.io"
	}
	return "application/json"
}

// Object is an object and the metadata that the client needs.
type Object struct {
	Namespace, Name string
	Revision        int64
	JSON            json.RawMessage // of a row: the object of the row

	Row     *metav1.TableRow               // nil: the query does not ask for Rows
	Columns []metav1.TableColumnDefinition // of Row; empty: as before
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
	return Object{Namespace: read.Metadata.Namespace, Name: read.Metadata.Name, Revision: revision, JSON: text}, nil
}

// newRow reads a Table of one row, which is the object of a watch event.
func newRow(text json.RawMessage) (Object, error) {
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil {
		return Object{}, fmt.Errorf("a table: %w", err)
	}
	if len(table.Rows) != 1 {
		return Object{}, fmt.Errorf("a table of an event has %d rows, want 1", len(table.Rows))
	}
	return rowObject(table.Rows[0], table.ColumnDefinitions)
}

func rowObject(row metav1.TableRow, columns []metav1.TableColumnDefinition) (Object, error) {
	o, err := newObject(row.Object.Raw)
	o.Row, o.Columns = &row, columns
	return o, err
}

// key identifies the object among those of a resource.
func (o Object) key() string { return o.Namespace + "/" + o.Name }

// List has the objects that match a query, as of one revision.
type List struct {
	Revision int64
	Objects  []Object
	Columns  []metav1.TableColumnDefinition // of the rows
}

// Values of Query.PageSize.
const (
	DefaultPageSize = 500 // of Kubernetes' own clients
	OnePage         = -1
)

// List reads all pages of a list.
func (c *Client) List(ctx context.Context, q Query) (List, error) {
	if q.Rows {
		return c.listRows(ctx, q)
	}
	var out List
	lists, err := pages[metav1.List](ctx, c, q)
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
	out.Revision, err = revisionOf(lists[len(lists)-1].ResourceVersion, q)
	return out, err
}

// listRows reads all pages of a Table.
func (c *Client) listRows(ctx context.Context, q Query) (List, error) {
	var out List
	tables, err := pages[metav1.Table](ctx, c, q)
	if err != nil {
		return out, err
	}
	for _, table := range tables {
		if len(table.ColumnDefinitions) > 0 {
			out.Columns = table.ColumnDefinitions
		}
		for _, row := range table.Rows {
			o, failed := rowObject(row, nil)
			if failed != nil {
				return out, fmt.Errorf("%s: %w", q.path(), failed)
			}
			out.Objects = append(out.Objects, o)
		}
	}
	out.Revision, err = revisionOf(tables[len(tables)-1].ResourceVersion, q)
	return out, err
}

func revisionOf(resourceVersion string, q Query) (int64, error) {
	revision, err := strconv.ParseInt(resourceVersion, 10, 64)
	if err != nil {
		err = fmt.Errorf("%s: %w", q.path(), err)
	}
	return revision, err
}

// Read reads the objects of a query: as List does, or with a GET if the query names one object and nothing else. The error of an
// object that does not exist has the code 404 then.
func (c *Client) Read(ctx context.Context, q Query) (List, error) {
	if !q.isGet() {
		return c.List(ctx, q)
	}
	var text json.RawMessage
	values := url.Values{}
	if q.Objects {
		values.Set("includeObject", "Object")
	}
	if q.At != "" {
		values.Set("at", q.At)
	}
	if err := c.get(ctx, q.path()+"/"+q.Name, values, q.accept(), &text); err != nil {
		return List{}, err
	}
	parse := newObject
	if q.Rows {
		parse = newRow
	}
	o, err := parse(text)
	if err != nil {
		return List{}, fmt.Errorf("%s/%s: %w", q.path(), q.Name, err)
	}
	return List{Revision: o.Revision, Objects: []Object{o}, Columns: o.Columns}, nil
}

// Names returns the names of the objects on the first page of a list.
func (c *Client) Names(ctx context.Context, q Query) ([]string, error) {
	values := q.values()
	values.Set("limit", strconv.Itoa(cmp.Or(q.PageSize, DefaultPageSize)))
	var list metav1.PartialObjectMetadataList
	err := c.get(ctx, q.path(), values, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", &list)
	var out []string
	for _, item := range list.Items {
		out = append(out, item.Name)
	}
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

// pages reads one page after the other. When the continue token expires, it starts again, once.
func pages[T any, P interface {
	*T
	metav1.ListInterface
}](ctx context.Context, c *Client, q Query) (all []T, err error) {
	next := ""
	for restarted := false; ; {
		var page T
		err := c.get(ctx, q.path(), q.pageValues(next), q.accept(), &page)
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
