package encryption

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/apiserver/pkg/server/options/encryptionconfig"
	"k8s.io/apiserver/pkg/storage/value"
	"sigs.k8s.io/yaml"
)

// Providers are the providers of one EncryptionConfiguration. They are safe for concurrent use.
type Providers struct {
	byResource encryptionconfig.StaticTransformers
	checks     []healthz.HealthChecker
	stop       context.CancelFunc
	grace      time.Duration

	transformers sync.Map // schema.GroupResource to value.Transformer; filled as they are asked for
}

// Load reads an EncryptionConfiguration from the file at path, whose content is known to the caller. If the file has another content by
// now, Load fails. Connections to KMS plugins stay open until Retire; a plugin that does not answer yet is no error.
func Load(ctx context.Context, path string, content []byte) (*Providers, error) {
	if err := refuseKMSv1(content); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	loaded, err := encryptionconfig.LoadEncryptionConfig(ctx, path, true, serverID)
	if err == nil && loaded.EncryptionFileContentHash != fmt.Sprintf("sha256:%x", sha256.Sum256(content)) {
		err = errors.New("it has changed again")
	}
	if err != nil {
		stop()
		return nil, err
	}
	return &Providers{byResource: loaded.Transformers, checks: loaded.HealthChecks, stop: stop, grace: loaded.KMSCloseGracePeriod}, nil
}

// None returns the providers of no configuration: values that are not encrypted are as they are stored, and all others are unreadable.
func None() *Providers { return &Providers{stop: func() {}} }

// serverID labels the metrics of KMS plugins.
const serverID = "revtail"

// refuseKMSv1 explains what to do, because the error of Kubernetes names a flag of its own. Load refuses content that is not valid.
func refuseKMSv1(content []byte) error {
	var config apiserverv1.EncryptionConfiguration
	if err := yaml.Unmarshal(content, &config); err != nil {
		return nil //nolint:nilerr // Load has a better error
	}
	for _, r := range config.Resources {
		for _, p := range r.Providers {
			if p.KMS != nil && p.KMS.APIVersion != "v2" {
				return fmt.Errorf("the provider kms %q has not apiVersion: v2: version 1 of the KMS API is deprecated in Kubernetes, and revtail does not have it", p.KMS.Name)
			}
		}
	}
	return nil
}

// Retire closes the connections to KMS plugins when requests in progress have ended.
func (p *Providers) Retire() { time.AfterFunc(p.grace, p.stop) }

// Close closes the connections to KMS plugins now.
func (p *Providers) Close() { p.stop() }

// Names reports whether the configuration has providers for a resource, by its name or by a wildcard.
func (p *Providers) Names(of schema.GroupResource) bool {
	return slices.ContainsFunc([]schema.GroupResource{of, {Group: of.Group, Resource: "*"}, {Group: "*", Resource: "*"}}, func(name schema.GroupResource) bool {
		return p.byResource[name] != nil
	})
}

// Check returns why a KMS plugin is not healthy. It keeps an answer of a plugin for some seconds.
func (p *Providers) Check(ctx context.Context) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return err
	}
	var errs []error
	for _, check := range p.checks {
		errs = append(errs, check.Check(r))
	}
	return errors.Join(errs...)
}

// transformer returns the transformer of a resource. One that the configuration does not name is stored as it is.
func (p *Providers) transformer(of schema.GroupResource) value.Transformer {
	if known, ok := p.transformers.Load(of); ok {
		return known.(value.Transformer)
	}
	made := p.byResource.TransformerForResource(of)
	p.transformers.Store(of, made)
	return made
}
