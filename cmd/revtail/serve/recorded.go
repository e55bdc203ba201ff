package serve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"revtail/gateway/api/kinds"
	"revtail/gateway/config"
	"revtail/gateway/config/suggest"
	"revtail/gateway/resource"
)

// recordedKeys returns the prefixes of the keys whose events the journal has, and those of keys among them that are excluded nevertheless. Of each, none
// begins with another one. The error names the resources of --history-resources that cannot exist.
func recordedKeys(cfg config.Config) (prefixes, except []string, err error) {
	known := newSelection(cfg)
	names, withoutNames := cfg.RecordedResources()
	keys, withoutKeys := cfg.RecordedKeys()
	resources, wrong := known.prefixes(names)
	withoutResources, wrongToo := known.prefixes(withoutNames)
	if err := errors.Join(wrong, wrongToo); err != nil {
		return nil, nil, err
	}
	except = widest(slices.Concat(withoutResources, withoutKeys))
	prefixes = slices.DeleteFunc(widest(slices.Concat(resources, keys)), func(prefix string) bool { return beginsWith(prefix, except) })
	except = slices.DeleteFunc(except, func(prefix string) bool { return !beginsWith(prefix, prefixes) })
	if len(prefixes) == 0 {
		return nil, nil, errors.New("--history-dir: nothing is recorded: name resources with --history-resources, or keys with --history-keys")
	}
	return prefixes, except, nil
}

// widest returns the prefixes that do not begin with another one, in their order.
func widest(prefixes []string) (out []string) {
	slices.Sort(prefixes)
	for _, prefix := range prefixes {
		if n := len(out); n == 0 || !strings.HasPrefix(prefix, out[n-1]) {
			out = append(out, prefix)
		}
	}
	return out
}

func beginsWith(key string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(key, prefix) })
}

// selection finds the prefixes of the keys of resources that are named.
type selection struct {
	root    string
	cluster bool
	all     []string             // the prefixes of all resources
	known   []*resource.Resource // built-in kinds and mounts
}

func newSelection(cfg config.Config) selection {
	s := selection{root: cfg.EtcdPrefix, cluster: cfg.Cluster, all: []string{cfg.EtcdPrefix + "/"}, known: kinds.Builtin()}
	if cfg.Cluster {
		s.known = kinds.InCluster()
	}
	for _, m := range cfg.Mounts {
		s.all = append(s.all, m.Prefix)
		s.known = append(s.known, m.Resource())
	}
	return s
}

func (s selection) prefixes(names []string) (out []string, err error) {
	var errs []error
	for _, name := range names {
		switch name {
		case "": // none
			continue
		case "*.*":
			out = append(out, s.all...)
			continue
		}
		plural, group, _ := strings.Cut(name, ".")
		found := s.find(plural, group)
		if len(found) == 0 {
			errs = append(errs, fmt.Errorf("--history-resources %q: there is no such resource%s", name, s.suggestion(name, plural)))
		}
		out = append(out, found...)
	}
	return out, errors.Join(errs...)
}

// find returns the prefixes of a resource, or with * of a group. A group that is not built in can be that of custom resources, which need not exist
// yet.
func (s selection) find(plural, group string) (out []string) {
	builtin := group == ""
	for _, r := range s.known {
		if r.Group != group {
			continue
		}
		builtin = builtin || r.Mount == nil
		if plural == "*" || plural == r.Plural {
			out = append(out, r.Prefix(s.root))
		}
	}
	custom := strings.Contains(group, ".") // other groups have no custom resources
	switch {
	case plural == "*" && group != "" && (custom || len(out) > 0 && !s.cluster): // a cluster has built-in kinds elsewhere
		out = append(out, s.root+"/"+group+"/")
	case custom && !builtin && plural != "*" && len(out) == 0:
		out = append(out, s.root+"/"+group+"/"+plural+"/")
	}
	return out
}

// suggestion returns the end of a message about an unknown name. Most lack the group.
func (s selection) suggestion(name, plural string) string {
	names := make([]string, len(s.known))
	for i, r := range s.known {
		if names[i] = r.QualifiedName(); r.Plural == plural {
			return fmt.Sprintf(" (did you mean %s?)", names[i])
		}
	}
	return suggest.DidYouMean(name, names)
}
