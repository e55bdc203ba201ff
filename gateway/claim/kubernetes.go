package claim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"revtail/etcdstore"
	"revtail/gateway/resource"
)

// compactRevKey is where the compactor of a kube-apiserver, and of every program with its storage library, keeps its revision.
const compactRevKey = "compact_rev_key"

// kubernetesKeys are prefixes, below the prefix of a cluster, of keys that only a kube-apiserver writes. revtail has other keys for these
// objects, or none.
var kubernetesKeys = []string{
	"masterleases/", "peerserverleases/", "ranges/", "minions/", "controllers/", "ingress/", "leases/kube-system/apiserver-",
	"apiregistration.k8s.io/apiservices/", "services/specs/", "services/endpoints/",
}

// findKubernetes returns a key that proves that a kube-apiserver uses the prefix, or one above it; empty: there is none.
func (c *Claim) findKubernetes(ctx context.Context) (string, error) {
	for _, root := range roots(c.config.Prefix) {
		for _, below := range kubernetesKeys {
			// A namespace that is called specs or endpoints has keys there too, but none with a namespace below it.
			key, err := c.findKey(ctx, root+"/"+below, strings.HasPrefix(below, "services/"))
			if errors.Is(err, etcdstore.ErrDenied) && root != c.config.Prefix {
				break // etcd lets this gateway read its own prefix alone
			}
			if err != nil || key != "" {
				return key, err
			}
		}
	}
	return "", nil
}

// roots returns a prefix and those above it, because a cluster may use any of them.
func roots(prefix string) []string {
	out := []string{prefix}
	for i := strings.LastIndexByte(prefix, '/'); i > 0; i = strings.LastIndexByte(prefix[:i], '/') {
		out = append(out, prefix[:i])
	}
	return append(out, "")
}

// findKey returns the first key below a prefix, or the first with two segments there; empty: there is none.
func (c *Claim) findKey(ctx context.Context, prefix string, two bool) (string, error) {
	options := etcdstore.ListOptions{Limit: findPage, KeysOnly: true}
	for {
		page, err := c.config.Store.List(ctx, prefix, options)
		if err != nil {
			return "", fmt.Errorf("looking for keys of a kube-apiserver: %w", err)
		}
		for _, kv := range page.KVs {
			if !two || strings.Contains(kv.Key[len(prefix):], "/") {
				return kv.Key, nil
			}
		}
		if page.Remaining == 0 || len(page.KVs) == 0 {
			return "", nil
		}
		options.After = page.KVs[len(page.KVs)-1].Key
	}
}

// findPage is how many keys findKey reads at a time: as a rule there is none.
const findPage = 100

// isKubernetesValue reports whether a kube-apiserver has written a value: as protobuf, or encrypted.
func isKubernetesValue(value []byte) bool {
	return bytes.HasPrefix(value, []byte("k8s\x00")) || bytes.HasPrefix(value, []byte("k8s:enc:"))
}

// SharesEtcd reports whether a kube-apiserver compacts this etcd, wherever its data is, as far as etcd lets this gateway see. The errors
// are the store's.
func (c *Claim) SharesEtcd(ctx context.Context) (bool, error) {
	page, err := c.config.Store.List(ctx, compactRevKey, etcdstore.ListOptions{Limit: 1, KeysOnly: true, Exact: true})
	if errors.Is(err, etcdstore.ErrDenied) {
		return false, nil // etcd lets this gateway read its own prefix alone
	}
	return len(page.KVs) > 0, err
}

// KeysElsewhere are the keys that an object of a resource, which revtail keeps in its own place, can have where a kube-apiserver put it:
// the group is no part of most of them.
func KeysElsewhere(prefix string, res *resource.Resource, scope resource.Scope) []string {
	var keys []string
	for _, place := range slices.Compact([]string{res.Plural, res.ClusterPrefix()}) {
		if below := prefix + "/" + place + "/"; below != res.Prefix(prefix) {
			keys = append(keys, below+scope.Path())
		}
	}
	return keys
}
