package kinds

import (
	"cmp"
	"context"
	"crypto/tls"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/pkg/probe"
	"k8s.io/kubernetes/pkg/registry/core/componentstatus"

	"revtail/gateway/resource"
)

const (
	// controllerManagerPort and schedulerPort are the default ports of kube-controller-manager and kube-scheduler.
	controllerManagerPort, schedulerPort = 10257, 10259
	// probeTimeout bounds the check of etcd. It is that of kube-apiserver.
	probeTimeout = 20 * time.Second
)

// Components makes the ComponentStatuses, which are not stored: each request checks the components anew. It is safe for concurrent use.
type Components struct{ rest componentstatus.REST }

// NewComponents returns the components of a control plane: the scheduler and the controller manager of this host, as kube-apiserver has
// them, and etcd, which check checks.
func NewComponents(check func(context.Context) error) *Components {
	servers := map[string]componentstatus.Server{
		"controller-manager": healthz(controllerManagerPort), "scheduler": healthz(schedulerPort), "etcd-0": etcdServer(check),
	}
	return &Components{componentstatus.REST{GetServersToValidate: func() map[string]componentstatus.Server { return servers }}}
}

// healthz returns the health check of a component that listens on a port of this host, with a certificate that it has made itself.
func healthz(port int) *componentstatus.HttpServer {
	return &componentstatus.HttpServer{Addr: "127.0.0.1", Port: port, Path: "/healthz", EnableHTTPS: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}}
}

// List returns the status of all components, in the order of their names.
func (c *Components) List(ctx context.Context) ([]*corev1.ComponentStatus, error) {
	found, err := c.rest.List(ctx, nil)
	if err != nil {
		return nil, err
	}
	items := found.(*core.ComponentStatusList).Items
	out := make([]*corev1.ComponentStatus, len(items))
	for i := range items {
		if out[i], err = versioned(&items[i]); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b *corev1.ComponentStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Get returns the status of a component. The error is a *apierrors.StatusError if there is none of that name.
func (c *Components) Get(ctx context.Context, name string) (*corev1.ComponentStatus, error) {
	found, err := c.rest.Get(ctx, name, nil)
	if err != nil {
		return nil, err
	}
	return versioned(found)
}

func versioned(status runtime.Object) (*corev1.ComponentStatus, error) {
	out := &corev1.ComponentStatus{}
	if err := legacyscheme.Scheme.Convert(status, out, nil); err != nil {
		return nil, err
	}
	out.APIVersion, out.Kind = "v1", "ComponentStatus"
	return out, nil
}

// etcdServer is a check of etcd.
type etcdServer func(context.Context) error

// DoServerCheck implements componentstatus.Server.
func (check etcdServer) DoServerCheck() (result probe.Result, message string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout) //nolint:forbidigo // componentstatus.Server has none
	defer cancel()
	if err := check(ctx); err != nil {
		return probe.Failure, "", err
	}
	return probe.Success, "ok", nil
}

// Virtual returns the virtual resources, with the printers of those that can be read.
func Virtual() []*resource.Resource {
	all := resource.Virtual()
	for _, res := range all {
		if res.ReadOnly {
			attach(res)
		}
	}
	return all
}
