package clients

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer     = group + "/site"
	templateField = "spec.template" // the name of an index, and a field selector of the server
	templateLabel = "template"      // label of ConfigMaps that are templates
	siteLabel     = "site"          // label of objects that sites own
)

// reconciler makes a ConfigMap and a Secret for each site, writes its status, and removes the finalizer of deleted sites.
type reconciler struct {
	ctrlclient.Client
	live ctrlclient.Reader
	t    *testing.T

	rounds    atomic.Int64 // number of calls
	conflicts atomic.Int64 // number of updates of a status with a conflict
	finalized atomic.Int64 // number of sites whose finalizer was removed
}

// manage makes a manager's controller of sites.
func manage(t *testing.T, m manager.Manager) *reconciler {
	t.Helper()
	r := &reconciler{Client: m.GetClient(), live: m.GetAPIReader(), t: t}
	indexTemplates(t, m.GetFieldIndexer())
	isTemplate := predicate.NewPredicateFuncs(func(o ctrlclient.Object) bool { return o.GetLabels()[templateLabel] != "" })
	err := builder.ControllerManagedBy(m).
		For(&Site{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&corev1.ConfigMap{}).
		Owns(&corev1.Secret{}, builder.OnlyMetadata).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.sitesOf), builder.WithPredicates(isTemplate)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).
		Complete(r)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func indexTemplates(t *testing.T, indexer ctrlclient.FieldIndexer) {
	t.Helper()
	byTemplate := func(o ctrlclient.Object) []string { return []string{o.(*Site).Spec.Template} }
	if err := indexer.IndexField(t.Context(), &Site{}, templateField, byTemplate); err != nil {
		t.Fatal(err)
	}
}

// sitesOf returns the sites to reconcile when a template changes.
func (r *reconciler) sitesOf(ctx context.Context, template ctrlclient.Object) []reconcile.Request {
	var sites SiteList
	if err := r.List(ctx, &sites, ctrlclient.InNamespace(template.GetNamespace()), ctrlclient.MatchingFields{templateField: template.GetName()}); err != nil {
		r.t.Errorf("the sites of %s: %v", template.GetName(), err)
	}
	var out []reconcile.Request
	for _, site := range sites.Items {
		out = append(out, reconcile.Request{NamespacedName: ctrlclient.ObjectKeyFromObject(&site)})
	}
	return out
}

// Reconcile implements reconcile.Reconciler. The cache may be behind, so that a write has a conflict or is made twice: it is called again.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	r.rounds.Add(1)
	err := r.reconcile(ctx, request)
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && ctx.Err() == nil {
		r.t.Errorf("site %s: %v", request.Name, err)
	}
	return reconcile.Result{}, err
}

func (r *reconciler) reconcile(ctx context.Context, request reconcile.Request) error {
	site := &Site{}
	if err := r.Get(ctx, request.NamespacedName, site); err != nil {
		return ctrlclient.IgnoreNotFound(err)
	}
	if !site.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, site)
	}
	if controllerutil.AddFinalizer(site, finalizer) {
		if err := r.Update(ctx, site); err != nil {
			return ctrlclient.IgnoreNotFound(err)
		}
	}
	text, err := r.render(ctx, site)
	if err != nil {
		return err
	}
	return ctrlclient.IgnoreNotFound(r.report(ctx, site, text))
}

// render applies the page of a site, and creates its key.
func (r *reconciler) render(ctx context.Context, site *Site) (text string, err error) {
	template := &corev1.ConfigMap{}
	if err := r.Get(ctx, ctrlclient.ObjectKey{Namespace: site.Namespace, Name: site.Spec.Template}, template); err != nil {
		return "", err
	}
	text = fmt.Sprintf("%s, says %s", template.Data["text"], site.Name)
	page := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"text": text}}}
	page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	page.SetNamespace(site.Namespace)
	page.SetName(site.Name)
	page.SetLabels(map[string]string{siteLabel: site.Name})
	if err := controllerutil.SetControllerReference(site, page, r.Scheme()); err != nil {
		return "", err
	}
	applied := ctrlclient.ApplyConfigurationFromUnstructured(page)
	if err := r.Apply(ctx, applied, ctrlclient.FieldOwner("sites"), ctrlclient.ForceOwnership); err != nil {
		return "", err
	}
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: site.Namespace, Name: site.Name}}
	_, err = controllerutil.CreateOrUpdate(ctx, r.Client, key, func() error {
		key.Labels = map[string]string{siteLabel: site.Name}
		key.Data = map[string][]byte{"key": []byte(site.UID)}
		return controllerutil.SetControllerReference(site, key, r.Scheme())
	})
	return text, err
}

// report writes the status: the text as a patch, and the condition as an update of the earlier state.
func (r *reconciler) report(ctx context.Context, site *Site, text string) error {
	old := site.deepCopy()
	site.Status.Text = text
	if err := r.Status().Patch(ctx, site, ctrlclient.MergeFrom(old)); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		meta.SetStatusCondition(&old.Status.Conditions, metav1.Condition{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: "Rendered", ObservedGeneration: old.Generation,
		})
		err := r.Status().Update(ctx, old)
		if apierrors.IsConflict(err) {
			r.conflicts.Add(1)
			if err := r.live.Get(ctx, ctrlclient.ObjectKeyFromObject(site), old); err != nil {
				return err
			}
		}
		return err
	})
}

// finalize removes the finalizer of a site.
func (r *reconciler) finalize(ctx context.Context, site *Site) error {
	patch := ctrlclient.MergeFromWithOptions(site.deepCopy(), ctrlclient.MergeFromWithOptimisticLock{})
	if !controllerutil.RemoveFinalizer(site, finalizer) {
		return nil
	}
	err := r.Patch(ctx, site, patch)
	if err == nil {
		r.finalized.Add(1)
	}
	return ctrlclient.IgnoreNotFound(err)
}

// ready reports whether a site has the current text of its template.
func ready(site Site, template string) bool {
	return meta.IsStatusConditionTrue(site.Status.Conditions, "Ready") && site.Status.Text == fmt.Sprintf("%s, says %s", template, site.Name)
}
