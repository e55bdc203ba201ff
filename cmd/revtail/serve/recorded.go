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

// recordedPrefixes returns the prefixes of the keys whose events the journal has. None begins with another one. The error names the resources of
// --history-resources that cannot exist.
func recordedPrefixes(cfg config.Config) ([]string, error) {
	all := cfg.RecordedKeys()
	if cfg.RecordsAllResources() {
		all = append(all, cfg.EtcdPrefix+"/")
		for _, m := range cfg.Mounts {
			all = append(all, m.Prefix)
		}
	} else {
		chosen, err := newSelection(cfg).prefixes(cfg.HistoryResources)
		if err != nil {
			return nil, err
		}
		all = append(all, chosen...)
	}
	slices.Sort(all)
	var out []string
	for _, prefix := range all {
		if n := len(out); n == 0 || !strings.HasPrefix(prefix, out[n-1]) {
			out = append(out, prefix)
		}
	}
	if len(out) == 0 {
		return nil, errors.New("--history-dir: nothing is recorded: name resources with --history-resources, or keys with --history-keys")
	}
	return out, nil
}

// selection finds the prefixes of the keys of resources that are named.
type selection struct {
	root    string
	cluster bool
	known   []*resource.Resource // built-in kinds and mounts
}

func newSelection(cfg config.Config) selection {
	s := selection{root: cfg.EtcdPrefix, cluster: cfg.Cluster, known: kinds.Builtin()}
	if cfg.Cluster {
		s.known = kinds.InCluster()
	}
	for _, m := range cfg.Mounts {
		s.known = append(s.known, m.Resource())
	}
	return s
}

func (s selection) prefixes(names []string) (out []string, err error) {
	var errs []error
	for _, name := range names {
		if name == "" { // none
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
