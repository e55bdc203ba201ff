package clients

import (
	"context"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"revtail/gateway/gatewaytest"
)

// TestControllerReadYourWrites checks that a client of controller-runtime that reads from a cache gets each of its own writes, of any kind.
// It waits by comparing revisions.
func TestControllerReadYourWrites(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	define(t, newClient(t, gw), "sites", "Site", siteVersion)
	c := startCluster(t, gw).GetClient()
	for n := range 20 {
		object := site(n)
		seen := &Site{}
		for what, write := range []func() error{
			func() error { return c.Create(t.Context(), object) },
			func() error {
				object.Spec.Template = "other"
				return c.Update(t.Context(), object)
			},
			func() error {
				before := object.deepCopy()
				object.Labels = map[string]string{"a": "b"}
				return c.Patch(t.Context(), object, ctrlclient.MergeFrom(before))
			},
			func() error {
				object.Status.Text = "text"
				return c.Status().Update(t.Context(), object)
			},
		} {
			if err := write(); err != nil {
				t.Fatalf("write %d: %v", what, err)
			}
			if err := c.Get(t.Context(), ctrlclient.ObjectKeyFromObject(object), seen); err != nil || seen.ResourceVersion != object.ResourceVersion {
				t.Errorf("after write %d at %s the cache has %q, %v", what, object.ResourceVersion, seen.ResourceVersion, err)
			}
		}
		if err := c.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), ctrlclient.ObjectKeyFromObject(object), seen); !apierrors.IsNotFound(err) {
			t.Errorf("after its end the cache has %q, %v", seen.ResourceVersion, err)
		}
	}
}

// TestControllerClient compares the results of a client of controller-runtime that reads from the server with those of a cache.
func TestControllerClient(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	define(t, newClient(t, gw), "sites", "Site", siteVersion)
	live, cached := liveClient(t, gw), startCluster(t, gw).GetClient()
	const n = 40
	for i := range n {
		object := site(i)
		object.Labels = map[string]string{"parity": fmt.Sprint(i % 2)}
		if err := cached.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for i := range templates {
		if err := cached.Create(t.Context(), template(i, "hello")); err != nil {
			t.Fatal(err)
		}
	}
	for name, options := range map[string][]ctrlclient.ListOption{
		"all":        nil,
		"namespace":  {ctrlclient.InNamespace(namespace)},
		"elsewhere":  {ctrlclient.InNamespace("elsewhere")},
		"label":      {ctrlclient.MatchingLabels{"parity": "1"}},
		"has label":  {ctrlclient.HasLabels{"parity"}},
		"field":      {ctrlclient.MatchingFields{templateField: "template-1"}},
		"both":       {ctrlclient.MatchingFields{templateField: "template-1"}, ctrlclient.MatchingLabels{"parity": "1"}},
		"no objects": {ctrlclient.MatchingFields{templateField: "none"}},
	} {
		want := revisions(t, cached, &SiteList{}, options...)
		if diff := cmp.Diff(want, revisions(t, live, &SiteList{}, options...)); diff != "" {
			t.Errorf("%s (-cache +server):\n%s", name, diff)
		}
		if diff := cmp.Diff(want, pages(t, live, 7, options...)); diff != "" {
			t.Errorf("%s, in pages (-cache +server):\n%s", name, diff)
		}
	}
	byName := revisions(t, live, &corev1.ConfigMapList{}, ctrlclient.MatchingFields{"metadata.name": "template-1"})
	if len(byName) != 1 {
		t.Errorf("ConfigMaps of one name: %v", byName)
	}
	deleteSome(t, live, n)
}

// pages lists all sites in pages. All have one revision.
func pages(t *testing.T, live ctrlclient.Reader, limit int64, options ...ctrlclient.ListOption) map[string]string {
	t.Helper()
	out := make(map[string]string)
	var list SiteList
	for revision := ""; ; revision = list.ResourceVersion {
		next := ctrlclient.Continue(list.Continue)
		list = SiteList{}
		if err := live.List(t.Context(), &list, append(options[:len(options):len(options)], ctrlclient.Limit(limit), next)...); err != nil {
			t.Fatal(err)
		}
		if revision != "" && revision != list.ResourceVersion {
			t.Errorf("a page at revision %s after one at %s", list.ResourceVersion, revision)
		}
		for _, item := range list.Items {
			out[ctrlclient.ObjectKeyFromObject(&item).String()] = item.ResourceVersion
		}
		if len(list.Items) > int(limit) {
			t.Errorf("a page of %d objects, want %d at most", len(list.Items), limit)
		}
		if list.Continue == "" {
			return out
		}
	}
}

// deleteSome deletes collections, selected by field and label, and a single object with a precondition that does not hold.
func deleteSome(t *testing.T, live ctrlclient.Client, n int) {
	t.Helper()
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(siteKind.GroupVersion().WithKind("SiteList"))
	for _, step := range []struct {
		option ctrlclient.DeleteAllOfOption
		left   int
	}{
		{ctrlclient.MatchingFields{templateField: "template-1"}, n * 3 / 4},
		{ctrlclient.MatchingLabels{"parity": "1"}, n / 2},
		{ctrlclient.MatchingLabels{"parity": "none"}, n / 2},
	} {
		if err := live.DeleteAllOf(t.Context(), &Site{}, ctrlclient.InNamespace(namespace), step.option); err != nil {
			t.Fatal(err)
		}
		if left := len(revisions(t, live, all)); left != step.left {
			t.Errorf("after deleting all with %v there are %d sites, want %d", step.option, left, step.left)
		}
	}
	wrong := ctrlclient.Preconditions{UID: ptr.To(site(0).UID + "another")}
	if err := live.Delete(t.Context(), site(0), wrong); !apierrors.IsConflict(err) {
		t.Errorf("a delete of an object with another uid: %v", err)
	}
}

// startCluster runs controller-runtime's cache, and a client that reads its own writes from it, until the test ends.
func startCluster(t *testing.T, gw *gatewaytest.Gateway) cluster.Cluster {
	t.Helper()
	c, err := cluster.New(newClient(t, gw).config, func(o *cluster.Options) {
		o.Scheme, o.Logger = scheme, logr.Discard()
		o.Client.Cache = &ctrlclient.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}
	})
	if err != nil {
		t.Fatal(err)
	}
	indexTemplates(t, c.GetFieldIndexer())
	background(t, func(ctx context.Context) {
		if err := c.Start(ctx); err != nil {
			t.Errorf("the cache ended with %v", err)
		}
	})
	return c
}
