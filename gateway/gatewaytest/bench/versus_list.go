package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// listForm is a form of a list, and the check of one.
type listForm struct {
	name, accept string
	check        func(body []byte, revisions []int64) error
	// The reasons for limits that its lists miss; empty: none.
	besideKubernetes, besideNull string
}

var listForms = []listForm{
	{name: "JSON", accept: "application/json", check: checkList},
	{"Table", "application/json;as=Table;g=meta.k8s.io;v=v1", checkTable,
		"The objects are minutes old: their ages, and with them their rows, change each second, and revtail decodes each object for a new row; a kube-apiserver keeps objects decoded.",
		"null sends rows that are prepared; revtail makes new ones each second, because the ages of young objects change."},
	{"protobuf", protobufType, checkMessage,
		"revtail keeps objects as JSON. It keeps messages for half a minute, in 256 MiB, and encodes what has no room in each list.",
		"null sends objects that are encoded; revtail copies each one behind the size of the list, and encodes what has no room."},
}

// file is the list that the null server sends.
func (f listForm) file(s *stage) string { return filepath.Join(s.dir, "list-"+f.name) }

// keep reads a list, checks it and stores it for the null server.
func (f listForm) keep(ctx context.Context, s *stage, e endpoint, revisions []int64) (answer, error) {
	c, err := dial(ctx, e)
	if err != nil {
		return answer{}, err
	}
	defer c.close()
	c.accept = f.accept
	a, err := c.send("GET", configMapsURL, nil)
	if err != nil {
		return answer{}, err
	}
	if err := f.check(a.body, revisions); err != nil {
		return answer{}, fmt.Errorf("%s: %w", f.name, err)
	}
	want := answer{bytes: int64(len(a.body)), checksum: crc32.Checksum(a.body[min(listHead, len(a.body)):], castagnoli)}
	return want, os.WriteFile(f.file(s), a.body, 0o600)
}

// manyClients is the greater number of clients that list at once.
const manyClients = 8

// listHead is longer than the part of a list before its objects: that has the list's resourceVersion, which a kube-apiserver moves on by
// itself.
const listHead = 120

// listings are the lists of one server in one form.
type listings struct {
	form     listForm
	server   *program.Process
	endpoint endpoint
	want     answer
}

// run lists for a duration with a number of clients, which are new ones: a server ends connections that rest while it is frozen.
func (l listings) run(ctx context.Context, clients int, d time.Duration) (sample, error) {
	o := new(opening)
	defer func() { closeAll(o.closers) }()
	all, err := acceptListers(ctx, o, l.endpoint, l.form.accept, listHead, clients)
	if err != nil {
		return nil, err
	}
	return (&listing{server: l.server, clients: all, want: l.want}).run(d)
}

// metric is the name of a metric of lists with a number of clients.
func (f listForm) metric(clients int, metric string) string {
	return fmt.Sprintf("%s-%d-%s", f.name, clients, metric)
}

// listAll runs all listings, with one client and with many.
func (s *stage) listAll(ctx context.Context, all []listings) (sample, error) {
	sum := sample{}
	for _, l := range all {
		for _, clients := range []int{1, manyClients} {
			got, err := l.run(ctx, clients, s.size.lists)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", l.form.name, err)
			}
			for metric, value := range got {
				sum[l.form.metric(clients, metric)] = value
			}
		}
	}
	return sum, nil
}

// versusList compares lists of a number of objects in some forms.
func versusList(name, title string, objects int, forms []listForm, aspects []aspect) versus {
	wants := map[string]answer{} // of the bytes that the null server sends, by form
	return versusRow(name, title, aspects, func(ctx context.Context, s *stage, o *opening, a apiServer) (solo, error) {
		v, err := a.open(ctx, s, o, tls11, objects, stored)
		if err != nil {
			return solo{}, err
		}
		var all []listings
		for _, form := range forms {
			want, err := form.keep(ctx, s, v.endpoint, v.revisions)
			if err != nil {
				return solo{}, err
			}
			wants[form.name] = want
			all = append(all, listings{form, v.Process, v.endpoint, want})
		}
		return v.alone(func(ctx context.Context) (sample, error) { return s.listAll(ctx, all) }), nil
	}, func(ctx context.Context, s *stage, o *opening) (solo, error) {
		var all []listings
		var processes []*program.Process
		for _, form := range forms {
			p, err := s.openPrepared(ctx, o, tls11, form.file(s))
			if err != nil {
				return solo{}, err
			}
			all, processes = append(all, listings{form, p.Process, p.endpoint, wants[form.name]}), append(processes, p.Process)
		}
		return solo{processes, func(ctx context.Context) (sample, error) { return s.listAll(ctx, all) }}, nil
	})
}
