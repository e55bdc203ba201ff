package quota

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiquota "k8s.io/apiserver/pkg/quota/v1"
	"k8s.io/client-go/util/workqueue"

	"revtail/gateway/api/admission"
	"revtail/gateway/api/catalog"
	"revtail/gateway/watchcache"
)

const (
	// settle is how long a change waits for others, and for the objects of creates that have been charged.
	settle = time.Second
	// quiet is how long a quota must not have been charged before its objects are counted, and maxPutOff how often that is waited for: an object
	// is charged shortly before it is stored.
	quiet     = 300 * time.Millisecond
	maxPutOff = 30
	// share is the pause after a count, as a multiple of its duration: no namespace takes more than a twentieth of a processor.
	share = 20
	// retry is the pause after an error.
	retry = time.Second
)

// Config configures a Controller.
type Config struct {
	Catalog  *catalog.Catalog
	Usage    func(context.Context) (*admission.Usage, error)
	Statuses admission.Statuses
	Logger   *slog.Logger
}

// Controller keeps the status of ResourceQuotas. There is no leader: each replica counts, and writes at the revision of the quota what its
// caches have at that revision or a later one, so that no status is replaced by an older one, and replicas that agree write once.
type Controller struct {
	Config
	usage   *admission.Usage                         // nil: there has been no quota yet, as of the fields below
	queue   workqueue.TypedDelayingInterface[string] // of paths
	working sync.WaitGroup

	mu       sync.Mutex // guards the fields below
	quotas   map[string]*followed
	watching map[counted]context.CancelFunc
}

// Run works until ctx ends. Without a ResourceQuota it waits for one, and does nothing else.
func Run(ctx context.Context, config Config) {
	c := &Controller{Config: config}
	for ctx.Err() == nil {
		if err := c.follow(ctx); ctx.Err() == nil {
			c.Logger.Debug("reading the ResourceQuotas anew", "error", err)
			pause(ctx, retry)
		}
	}
	if c.queue != nil {
		c.queue.ShutDown()
	}
	c.working.Wait()
}

// begin begins to count, because there is a quota.
func (c *Controller) begin(ctx context.Context) (err error) {
	if c.usage != nil {
		return nil
	}
	if c.usage, err = c.Usage(ctx); err != nil {
		return err
	}
	c.queue = workqueue.NewTypedDelayingQueue[string]()
	c.working.Go(func() { c.work(ctx) })
	return nil
}

// work counts for the quotas in the queue until it is shut down.
func (c *Controller) work(ctx context.Context) {
	for failing := false; ; {
		path, ended := c.queue.Get()
		if ended {
			return
		}
		again, err := c.sync(ctx, path)
		switch {
		case err == nil:
			failing = false
		case apierrors.IsConflict(err), ctx.Err() != nil:
		case failing:
			c.Logger.Debug("the status of a ResourceQuota is not up to date", "quota", path, "error", err)
		default:
			failing = true
			c.Logger.Warn("the status of a ResourceQuota is not up to date, trying again", "quota", path, "error", err)
		}
		c.queue.Done(path)
		if again > 0 {
			c.queue.AddAfter(path, again)
		}
	}
}

// sync writes the status of a quota, if it is not what it should be, and returns after which time it has to be called again; zero: it need not.
func (c *Controller) sync(ctx context.Context, path string) (again time.Duration, err error) {
	of := quotas(c.Catalog).Cache.Peek(path)
	quota, err := decode(of)
	if quota == nil || err != nil {
		return 0, nil //nolint:nilerr // it does not exist, or is no quota
	}
	unknown := !apiquota.Equals(quota.Spec.Hard, quota.Status.Hard)
	if wait := c.putOff(path); wait > 0 && !unknown {
		return wait, nil
	}
	began := time.Now()
	status, err := c.usage.Status(ctx, quota, of.Revision)
	if status.Hard == nil {
		return retry, err
	}
	c.rest(path, share*time.Since(began))
	if unknown || quota.Status.Used == nil || !apiquota.Equals(status.Used, quota.Status.Used) {
		quota.Status = status
		if _, failed := c.Statuses.UpdateStatus(ctx, quota); failed != nil && !apierrors.IsNotFound(failed) {
			return retry, failed
		}
	}
	if err != nil {
		return retry, err
	}
	return 0, nil
}

// decode returns a quota; nil: it does not exist.
func decode(o *watchcache.Object) (*corev1.ResourceQuota, error) {
	if o == nil || !o.Shown() {
		return nil, nil
	}
	out := &corev1.ResourceQuota{}
	return out, json.Unmarshal(o.JSON, out)
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
