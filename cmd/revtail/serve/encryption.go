package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore"
	"revtail/etcdstore/encryption"
	"revtail/gateway/api/kinds"
	"revtail/gateway/resource"
)

// keysResource names the values of --encryption-keys in the file of --encryption-provider-config.
var keysResource = schema.GroupResource{Group: "revtail", Resource: "keys"}

// openEncryption reads the file of --encryption-provider-config, if there is one.
func (p *process) openEncryption(ctx context.Context) error {
	if p.cfg.EncryptionProviderConfig == "" {
		return nil
	}
	file, err := openFile(p, "--encryption-provider-config", p.cfg.EncryptionProviderConfig, func(content []byte) (*encryption.Providers, error) {
		next, failed := p.loadProviders(ctx, content)
		if failed == nil && p.encryption != nil { // nil at the first call
			p.encryption.Get().Retire()
		}
		return next, failed
	})
	p.encryption = file
	return err
}

// loadProviders reads an EncryptionConfiguration. While the gateway runs, it refuses one with a KMS plugin that is not healthy.
func (p *process) loadProviders(ctx context.Context, content []byte) (*encryption.Providers, error) {
	next, err := encryption.Load(ctx, p.cfg.EncryptionProviderConfig, content)
	if err != nil {
		return nil, err
	}
	if len(p.cfg.EncryptionKeys) > 0 && !next.Names(keysResource) {
		err = fmt.Errorf("no providers for %s, which --encryption-keys needs", keysResource)
	}
	if p.encryption != nil && next.Check(ctx) != nil {
		err = errors.New("one of its KMS plugins does not answer, or is not healthy")
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func (p *process) closeEncryption() {
	if p.encryption != nil {
		p.encryption.Get().Close()
	}
}

// encrypted returns the store of the gateway: etcd, or a store that encrypts the values in it.
func (p *process) encrypted(etcd etcdstore.Store) etcdstore.Store {
	providers := none
	switch {
	case p.encryption != nil:
		providers = p.encryption.Get
	case !p.cfg.Cluster:
		return etcd
	}
	store := p.encryptedBy(etcd, providers)
	p.decryption = &decryption{store: store, providers: providers, cluster: p.cfg.Cluster}
	return store
}

// decrypting returns a store whose values are decrypted as those of encrypted are.
func (p *process) decrypting(recorded etcdstore.Store) etcdstore.Store {
	if p.decryption == nil {
		return recorded
	}
	return p.encryptedBy(recorded, p.decryption.providers)
}

func (p *process) encryptedBy(store etcdstore.Store, providers func() *encryption.Providers) *encryption.Store {
	return encryption.New(encryption.Config{Store: store, Providers: providers, Resource: p.resourceOf, Logger: p.logger})
}

// none returns the providers without --encryption-provider-config, with which encrypted values of a cluster are found.
var none = sync.OnceValue(encryption.None)

// resourceOf returns the resource whose providers the value of a key has.
func (p *process) resourceOf(key string) (schema.GroupResource, bool) {
	if p.cfg.Cluster {
		return kinds.ClusterResource(p.cfg.EtcdPrefix, key)
	}
	if of, ok := resource.Of(p.cfg.EtcdPrefix, key); ok {
		if of.Group == "events.k8s.io" { // a configuration cannot name it: in Kubernetes they are the events of the core group
			of.Group = ""
		}
		return of, true
	}
	for _, each := range p.cfg.EncryptionKeys {
		if key == each || strings.HasSuffix(each, "/") && strings.HasPrefix(key, each) {
			return keysResource, true
		}
	}
	return schema.GroupResource{}, false
}

// kmsInterval is the interval of the checks of KMS plugins, which also keep their answers for some seconds.
const kmsInterval = 10 * time.Second

// kmsHealth has the last result of the checks of KMS plugins.
type kmsHealth struct{ problem atomic.Pointer[string] } // nil: none

// checkKMS checks the KMS plugins until ctx ends.
func (p *process) checkKMS(ctx context.Context) error {
	for tick := time.Tick(kmsInterval); ; {
		p.checkKMSOnce(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

func (p *process) checkKMSOnce(ctx context.Context) {
	err := p.encryption.Get().Check(ctx)
	before := p.kms.problem.Load()
	switch {
	case ctx.Err() != nil:
	case err != nil:
		text := err.Error()
		if p.kms.problem.Store(&text); before == nil {
			p.logger.Warn("a KMS plugin is not healthy: writes of values that it encrypts fail after some minutes", "error", err)
		}
	case before != nil:
		p.kms.problem.Store(nil)
		p.logger.Info("the KMS plugins are healthy")
	}
}

// encryptionProblems returns the problems for /readyz?verbose; nil: values are stored as they are.
func (p *process) encryptionProblems() func() []string {
	if p.encryption == nil {
		return nil
	}
	return func() (problems []string) {
		if problem := p.kms.problem.Load(); problem != nil {
			problems = append(problems, *problem)
		}
		if !p.cfg.Cluster { // otherwise it is a condition of readiness
			problems = append(problems, p.decryption.problems()...)
		}
		return problems
	}
}

func (k *kmsHealth) collector() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "revtail_kms_healthy", Help: "0 while a KMS plugin of --encryption-provider-config is not healthy, else 1.",
	}, func() float64 {
		if k.problem.Load() != nil {
			return 0
		}
		return 1
	})
}
