package clients

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"revtail/gateway/gatewaytest"
)

const (
	sites     = 200
	templates = 4
)

// TestController checks that a controller made with controller-runtime, run by two managers of which one leads, makes two hundred objects
// of a custom kind Ready, that the other manager continues when the leader stops, and that deleting all objects deletes all that they own.
func TestController(t *testing.T) {
	t.Parallel()
	gw := gatewaytest.Start(t)
	define(t, newClient(t, gw), "sites", "Site", siteVersion)
	one, two := startManager(t, gw), startManager(t, gw)
	leader, other := one, two
	select {
	case <-one.Elected():
	case <-two.Elected():
		leader, other = two, one
	case <-time.After(gatewaytest.Patience):
		t.Fatal("no manager leads")
	}
	for n := range templates {
		leader.create(t, template(n, "hello"))
	}
	for n := range sites {
		leader.create(t, site(n))
	}
	other.awaitReady(t, map[int]string{})
	if other.rounds.Load() > 0 || leader.conflicts.Load() == 0 {
		t.Errorf("the leader met %d conflicts, and the other manager was called %d times", leader.conflicts.Load(), other.rounds.Load())
	}
	live := liveClient(t, gw)
	other.checkCache(t, live)

	leader.stop()
	select {
	case <-other.Elected():
	case <-time.After(gatewaytest.Patience):
		t.Fatal("no manager leads after the leader")
	}
	other.changeTemplate(t, 1, "goodbye")
	other.awaitReady(t, map[int]string{1: "goodbye"})
	damagePages(t, live)

	if err := other.GetClient().DeleteAllOf(t.Context(), &Site{}, ctrlclient.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Until(t, "an end of all sites and what they own", func() bool { return len(siteKeys(t, gw)) == 0 })
	if n := other.finalized.Load(); n != sites {
		t.Errorf("the controller has finalized %d sites, want %d", n, sites)
	}
	// The controller watches the metadata of secrets, and its client reads whole secrets.
	for resource, informers := range map[string]int{"sites": 1, "configmaps": 1, "secrets": 2} {
		other.requests.expectState(t, resource, informers)
	}
}

// runningManager is a manager that runs, with its controller.
type runningManager struct {
	manager.Manager
	*reconciler
	requests *requests
	stop     func()
}

// startManager runs a manager until the test ends, or stop.
func startManager(t *testing.T, gw *gatewaytest.Gateway) *runningManager {
	t.Helper()
	c := newClient(t, gw)
	m, err := manager.New(c.config, manager.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "leader", LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
		// A leader loses its lease only by releasing it, even on a slow machine.
		LeaseDuration: ptr.To(2 * gatewaytest.Patience), RenewDeadline: ptr.To(gatewaytest.Patience), RetryPeriod: ptr.To(100 * time.Millisecond),
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	out := &runningManager{Manager: m, reconciler: manage(t, m), requests: &c.requests}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- m.Start(ctx) }()
	out.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("a manager ended with %v", err)
		}
	})
	t.Cleanup(out.stop)
	return out
}

// liveClient is a client without a cache.
func liveClient(t *testing.T, gw *gatewaytest.Gateway) ctrlclient.Client {
	t.Helper()
	live, err := ctrlclient.New(newClient(t, gw).config, ctrlclient.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return live
}

func (m *runningManager) create(t *testing.T, o ctrlclient.Object) {
	t.Helper()
	if err := m.GetClient().Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func template(n int, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: templateName(n), Labels: map[string]string{templateLabel: "yes"}},
		Data:       map[string]string{"text": text},
	}
}

func templateName(n int) string { return fmt.Sprint("template-", n%templates) }

func site(n int) *Site {
	return &Site{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("site-", n)}, Spec: SiteSpec{Template: templateName(n)}}
}

// awaitReady waits until the manager's cache has all sites Ready, with the texts of those templates that do not say hello.
func (m *runningManager) awaitReady(t *testing.T, texts map[int]string) {
	t.Helper()
	byTemplate := make(map[string]string)
	for n := range templates {
		byTemplate[templateName(n)] = "hello"
		if text, changed := texts[n]; changed {
			byTemplate[templateName(n)] = text
		}
	}
	gatewaytest.Until(t, "all sites to be Ready", func() bool {
		var list SiteList
		if err := m.GetClient().List(t.Context(), &list); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, site := range list.Items {
			if ready(site, byTemplate[site.Spec.Template]) {
				n++
			}
		}
		return n == sites
	})
}

// checkCache compares the manager's cache with the server.
func (m *runningManager) checkCache(t *testing.T, live ctrlclient.Reader) {
	t.Helper()
	for _, list := range []func() ctrlclient.ObjectList{
		func() ctrlclient.ObjectList { return &SiteList{} },
		func() ctrlclient.ObjectList { return &corev1.ConfigMapList{} },
		func() ctrlclient.ObjectList { return &corev1.SecretList{} },
	} {
		want := revisions(t, live, list())
		if len(want) < sites {
			t.Errorf("%T has %d objects, want %d at least", list(), len(want), sites)
		}
		gatewaytest.Until(t, "a cache that equals the server", func() bool {
			return cmp.Equal(want, revisions(t, m.GetClient(), list()))
		})
	}
}

// revisions returns the revisions of all objects that a reader has.
func revisions(t *testing.T, from ctrlclient.Reader, list ctrlclient.ObjectList, options ...ctrlclient.ListOption) map[string]string {
	t.Helper()
	if err := from.List(t.Context(), list, options...); err != nil {
		t.Fatal(err)
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]string)
	for _, item := range items {
		out[ctrlclient.ObjectKeyFromObject(item.(ctrlclient.Object)).String()] = item.(ctrlclient.Object).GetResourceVersion()
	}
	return out
}

func (m *runningManager) changeTemplate(t *testing.T, n int, text string) {
	t.Helper()
	before := template(n, "hello")
	if err := m.GetClient().Patch(t.Context(), template(n, text), ctrlclient.StrategicMergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// damagePages deletes an object of one site and changes an object of another one, and waits until both are restored.
func damagePages(t *testing.T, live ctrlclient.Client) {
	t.Helper()
	var pages corev1.ConfigMapList
	if err := live.List(t.Context(), &pages, ctrlclient.HasLabels{siteLabel}, ctrlclient.Limit(2)); err != nil || len(pages.Items) != 2 {
		t.Fatalf("%d pages, %v", len(pages.Items), err)
	}
	deleted, changed := pages.Items[0].DeepCopy(), pages.Items[1].DeepCopy()
	changed.Data["text"] = "damaged"
	if err := live.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	if err := live.Update(t.Context(), changed, ctrlclient.FieldOwner("vandal")); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Until(t, "repaired pages", func() bool {
		for _, want := range pages.Items {
			var got corev1.ConfigMap
			err := live.Get(t.Context(), ctrlclient.ObjectKeyFromObject(&want), &got)
			if ctrlclient.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			if err != nil || got.ResourceVersion == want.ResourceVersion || !cmp.Equal(got.Data, want.Data) {
				return false
			}
		}
		return true
	})
}

// siteKeys returns the keys in etcd of sites and of the objects that they own.
func siteKeys(t *testing.T, gw *gatewaytest.Gateway) []string {
	t.Helper()
	var out []string
	for _, key := range gatewaytest.DialEtcd(t, gw.EtcdEndpoint).All(t) {
		if strings.HasPrefix(key, "/registry/") && strings.Contains(key, "/site-") {
			out = append(out, key)
		}
	}
	return out
}
