package claim

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/api/customresource"
	"revtail/gateway/resource"
)

// scanReport is the interval of the log lines of a long scan.
const scanReport = 5 * time.Second

// content is the data under a prefix without a marker.
type content struct {
	keys       int
	kubernetes string // a key whose value a kube-apiserver has written
	own        string // a key whose object only revtail can have written there
	unknown    string // a key of any other kind
}

// scan reads the keys under the prefix. It stops at the first value of a kube-apiserver, which is sufficient.
func (c *Claim) scan(ctx context.Context) (content, error) {
	var found content
	resources := append(slices.Clone(c.config.Builtin), customresource.Kind())
	reported := time.Now()
	prefix := c.config.Prefix + "/"
	for page, err := range etcdstore.Scan(ctx, c.config.Store, prefix, 0) {
		if err != nil {
			return content{}, fmt.Errorf("finding out whose data is under %s: %w", c.config.Prefix, err)
		}
		for _, kv := range page.KVs {
			if found.add(c.config.Prefix, resources, kv); found.kubernetes != "" {
				return found, nil
			}
		}
		if time.Since(reported) > scanReport {
			reported = time.Now()
			c.config.Logger.Info("finding out whose data is there", "prefix", c.config.Prefix, "keys", found.keys, "left", page.Remaining)
		}
		if page.Release != nil {
			page.Release()
		}
	}
	return found, nil
}

func (f *content) add(prefix string, resources []*resource.Resource, kv etcdstore.KV) {
	f.keys++
	switch {
	case isKubernetesValue(kv.Value):
		f.kubernetes = kv.Key
	case f.own == "" && isOwn(prefix, resources, kv):
		f.own = kv.Key
	case f.unknown == "":
		f.unknown = kv.Key
	}
}

// stored are the fields of each object of revtail. Objects of other programs rarely have them.
type stored struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		UID       string `json:"uid"`
		Created   string `json:"creationTimestamp"`
	} `json:"metadata"`
}

// isOwn reports whether revtail wrote an object: it has the fields that a server sets, and the key that revtail gives its kind and name.
func isOwn(prefix string, resources []*resource.Resource, kv etcdstore.KV) bool {
	for _, res := range resources {
		path, ok := strings.CutPrefix(kv.Key, res.Prefix(prefix))
		if !ok {
			continue
		}
		scope, ok := res.Split(path)
		return ok && wasStored(res, scope, kv.Value)
	}
	return false
}

func wasStored(res *resource.Resource, scope resource.Scope, value []byte) bool {
	var o stored
	if json.Unmarshal(value, &o) != nil {
		return false
	}
	m := o.Metadata
	return o.APIVersion == res.Stored().String() && o.Kind == res.Kind && m.Name == scope.Name && m.Namespace == scope.Namespace && m.UID != "" && m.Created != ""
}
