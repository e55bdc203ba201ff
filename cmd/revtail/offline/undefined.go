package offline

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"revtail/etcdstore"
)

// Undefined returns the custom resources that the file has keys of and that are not served, because their definitions are not there, with the
// number of their keys. It reads one key of each resource.
func (s *Server) Undefined(ctx context.Context, served func(schema.GroupResource) bool) (map[schema.GroupResource]int64, error) {
	out := make(map[schema.GroupResource]int64)
	root := s.options.Prefix + "/"
	for after := ""; ; {
		next, err := s.file.List(ctx, root, etcdstore.ListOptions{After: after, Limit: 1, KeysOnly: true})
		if err != nil || len(next.KVs) == 0 {
			return out, err
		}
		key := next.KVs[0].Key
		group, rest, nested := strings.Cut(key[len(root):], "/")
		plural, _, named := strings.Cut(rest, "/")
		switch {
		case !nested:
			after = key
		case !strings.Contains(group, "."): // those of no custom resources
			after = endOf(root + group + "/")
		case !named:
			after = key
		default:
			prefix, of := root+group+"/"+plural+"/", schema.GroupResource{Group: group, Resource: plural}
			if after = endOf(prefix); served(of) {
				continue
			}
			page, failed := s.file.List(ctx, prefix, etcdstore.ListOptions{Limit: 1, KeysOnly: true})
			if failed != nil {
				return out, failed
			}
			out[of] = int64(len(page.KVs)) + page.Remaining
		}
	}
}

// endOf returns a text that is greater than all keys with a prefix, which ends with a slash, and not greater than any other key after them.
func endOf(prefix string) string { return prefix[:len(prefix)-1] + "0" }
