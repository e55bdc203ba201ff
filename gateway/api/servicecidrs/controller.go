package servicecidrs

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"revtail/gateway/api/catalog"
	"revtail/gateway/api/reconcile"
	"revtail/gateway/api/storage"
	"revtail/gateway/claim"
	"revtail/gateway/watchcache"
)

// controller makes the IPAddresses and ServiceCIDRs what Services and the options of the gateway say: see DESIGN.md. Each replica has one.
type controller struct {
	store        *storage.Store
	services     *watchcache.Cache
	ipAddresses  reconcile.Objects
	serviceCIDRs reconcile.Objects
	clusterIPs   catalog.Decoded[[]string]   // of Services
	stored       catalog.Decoded[*ipAddress] // IPAddresses
	deleting     map[types.UID]time.Time     // since when ServiceCIDRs are seen to be deleted
	mismatch     bool                        // the log says that the range of the gateway is another one
}

// Run works until ctx ends, if the gateway allocates cluster IPs. It begins when all caches are filled and the data is revtail's own.
func Run(ctx context.Context, store *storage.Store) {
	if len(store.Addresses.Ranges()) == 0 || store.Catalog.WaitReady(ctx) != nil || store.Claim.WaitOwned(ctx) != nil {
		return
	}
	c := &controller{
		store: store, services: reconcile.Of(store, corev1.SchemeGroupVersion.WithResource("services")).Cache.Cache,
		ipAddresses:  ipAddresses(store),
		serviceCIDRs: reconcile.Of(store, networkingv1.SchemeGroupVersion.WithResource("servicecidrs")),
	}
	loop := reconcile.Loop{
		Caches: []*watchcache.Cache{c.services, c.ipAddresses.Cache.Cache, c.serviceCIDRs.Cache.Cache},
		Sync:   c.sync, Logger: store.Logger, What: "IPAddresses and ServiceCIDRs",
	}
	loop.Run(ctx)
}

func ipAddresses(store *storage.Store) reconcile.Objects {
	return reconcile.Of(store, networkingv1.SchemeGroupVersion.WithResource("ipaddresses"))
}

// sync makes all objects what they should be, and returns the time after which it wants to be called again.
func (c *controller) sync(ctx context.Context) (again time.Duration, err error) {
	if c.store.Claim.State().Owner != claim.Own {
		return 0, nil
	}
	again, err = c.syncServiceCIDRs(ctx)
	return again, errors.Join(err, c.syncIPAddresses(ctx))
}
