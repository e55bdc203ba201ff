package catalog

import (
	"context"
	"fmt"

	"revtail/etcdstore"
)

// Probe reads one value of each resource that is served, so that the store knows whether it can decrypt the values before a client asks for them.
func (c *Catalog) Probe(ctx context.Context) error {
	for _, res := range c.Current().Registry.All() {
		if res.Mount != nil || !res.IsStored() {
			continue
		}
		if _, err := c.Store.List(ctx, res.Prefix(c.Prefix), etcdstore.ListOptions{Limit: 1}); err != nil {
			return fmt.Errorf("%s: %w", res.QualifiedName(), err)
		}
	}
	return nil
}
