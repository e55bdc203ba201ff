package snapshot

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Owner is a program to which data belongs.
type Owner struct {
	Name   string `json:"name"`             // revtail or kube-apiserver
	Prefix string `json:"prefix,omitempty"` // of the data
	Key    string `json:"key"`              // from which this is known
}

// Count is the number of keys of a resource, or of those below another prefix, and the bytes of their values.
type Count struct {
	Resource string `json:"resource"`
	Keys     int    `json:"keys"`
	Bytes    int64  `json:"bytes"`
}

// tally has the existing keys.
type tally struct {
	sizes    map[string]int
	protobuf string // the first key in the format of a kube-apiserver
}

func newTally() *tally { return &tally{sizes: make(map[string]int)} }

func (t *tally) put(key string, value []byte) {
	t.sizes[key] = len(value)
	if t.protobuf == "" && bytes.HasPrefix(value, []byte("k8s\x00")) {
		t.protobuf = key
	}
}

func (t *tally) remove(key string) { delete(t.sizes, key) }

const (
	claims     = "revtail/claims"  // the prefix of the keys that mark data as revtail's; the rest is the prefix of the data
	compaction = "compact_rev_key" // of a kube-apiserver
)

func (t *tally) owners() []Owner {
	owners := []Owner{}
	for _, key := range slices.Sorted(maps.Keys(t.sizes)) {
		prefix, claimed := strings.CutPrefix(key, claims)
		switch {
		case claimed:
			owners = append(owners, Owner{"revtail", prefix, key})
		case key == compaction, key == t.protobuf:
			owners = append(owners, Owner{"kube-apiserver", "", key})
		}
	}
	return owners
}

// counts returns the keys of each resource.
func (t *tally) counts() []Count {
	var prefixes []string
	for _, owner := range t.owners() {
		if owner.Prefix != "" {
			prefixes = append(prefixes, owner.Prefix)
		}
	}
	if !slices.Contains(prefixes, "/registry") {
		prefixes = append(prefixes, "/registry")
	}
	found := make(map[string]Count)
	for key, size := range t.sizes {
		name := resourceOf(key, prefixes)
		c := found[name]
		found[name] = Count{name, c.Keys + 1, c.Bytes + int64(size)}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Count) int { return cmp.Compare(a.Resource, b.Resource) })
}

// groups are the API groups without a dot.
var groups = []string{"apps", "autoscaling", "batch", "extensions", "policy"}

// resourceOf returns the resource of a key below one of the prefixes, as kubectl names it, and the first part of another key.
func resourceOf(key string, prefixes []string) string {
	for _, prefix := range prefixes {
		below, ok := strings.CutPrefix(key, prefix+"/")
		if !ok {
			continue
		}
		first, rest, _ := strings.Cut(below, "/")
		if second, _, nested := strings.Cut(rest, "/"); nested && (strings.Contains(first, ".") || slices.Contains(groups, first)) {
			return second + "." + first
		}
		return first
	}
	root := ""
	if strings.HasPrefix(key, "/") {
		root, key = "/", key[1:]
	}
	first, _, nested := strings.Cut(key, "/")
	if nested {
		first += "/"
	}
	return root + first
}
