//go:build !noembedded

package offline

import (
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore"
)

// TestUndefined checks which resources without a definition a file has, now and at an earlier revision.
func TestUndefined(t *testing.T) {
	etcd := startStore(t)
	var last etcdstore.Revision
	for _, key := range []string{"example.com/widgets/default/a", "example.com/widgets/default/b", "example.com/widgets2/a", "example.com/stray", "example.org/things/a", "plain/x/y/z", "stray", "z.example.com/served/a"} {
		var err error
		if last, err = etcd.Create(t.Context(), "/registry/"+key, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), Options{File: save(t, etcd), Redact: redactSecrets}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }() // it was only read
	then, err := s.AsOf(t.Context(), last-6, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	widgets := schema.GroupResource{Group: "example.com", Resource: "widgets"}
	for name, tt := range map[string]struct {
		server *Server
		want   map[schema.GroupResource]int64
	}{
		"now":  {s, map[schema.GroupResource]int64{widgets: 2, {Group: "example.com", Resource: "widgets2"}: 1, {Group: "example.org", Resource: "things"}: 1}},
		"then": {then, map[schema.GroupResource]int64{widgets: 2}},
	} {
		got, err := tt.server.Undefined(t.Context(), func(of schema.GroupResource) bool { return of.Resource == "served" })
		if difference := cmp.Diff(tt.want, got); err != nil || difference != "" {
			t.Errorf("%s: %v (-want +got)\n%s", name, err, difference)
		}
	}
}
