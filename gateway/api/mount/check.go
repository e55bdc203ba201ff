package mount

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"revtail/encoding/codec"
	"revtail/gateway/resource"
)

// own is the prefix of the keys of the gateway itself.
const own = "revtail/"

// reserved are words that mean something else in the place of a resource.
var reserved = []string{"namespaces", "status", "watch"}

// Check returns all errors of mounts and of pairs of mounts. root is the prefix of other resources.
func Check(mounts []Mount, root string, builtin []*resource.Resource) error {
	var errs []error
	for i, m := range mounts {
		for _, err := range []error{m.checkPrefix(root), m.checkNames(builtin), m.checkCodec()} {
			if err != nil {
				errs = append(errs, fmt.Errorf("mounts[%d]: %w", i, err))
			}
		}
		for j, other := range mounts[:i] {
			if err := m.checkBeside(other); err != nil {
				errs = append(errs, fmt.Errorf("mounts[%d] and mounts[%d]: %w", j, i, err))
			}
		}
	}
	return errors.Join(errs...)
}

func (m Mount) checkPrefix(root string) error {
	switch {
	case m.Prefix == "":
		return errors.New("prefix is missing: say which keys are shown, as /app/config/")
	case !strings.HasSuffix(m.Prefix, "/"):
		return fmt.Errorf("prefix %q: want one that ends with /, as %q, or keys beside it would be shown too", m.Prefix, m.Prefix+"/")
	case meet(m.Prefix, root+"/"):
		return fmt.Errorf("prefix %q: it meets %q, where other resources live (--etcd-prefix)", m.Prefix, root+"/")
	case meet(m.Prefix, own):
		return fmt.Errorf("prefix %q: it meets %q, which is the gateway's own", m.Prefix, own)
	}
	return nil
}

// meet reports whether keys can begin with both prefixes.
func meet(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

func (m Mount) checkNames(builtin []*resource.Resource) error {
	for _, name := range []struct {
		key, value, example string
		problems            []string
	}{
		{"group", m.Group, "app.example.com", validation.IsDNS1123Subdomain(m.Group)},
		{"version", m.Version, "v1", validation.IsDNS1035Label(m.Version)},
		{"plural", m.Plural, "settings", validation.IsDNS1035Label(m.Plural)},
		{"kind", m.Kind, "Setting", validation.IsDNS1035Label(strings.ToLower(m.Kind))},
	} {
		if name.value == "" {
			return fmt.Errorf("%s is missing, as %s", name.key, name.example)
		}
		if len(name.problems) > 0 {
			return fmt.Errorf("%s %q: %s", name.key, name.value, strings.Join(name.problems, "; "))
		}
	}
	if slices.Contains(reserved, m.Plural) {
		return fmt.Errorf("plural %q means something else in URLs: choose another word", m.Plural)
	}
	for _, res := range builtin {
		if res.Group == m.Group {
			return fmt.Errorf("group %q has kinds that are built in: choose one of your own, as app.example.com", m.Group)
		}
	}
	return nil
}

func (m Mount) checkCodec() error {
	if slices.Contains(codec.Values, m.Codec) {
		return nil
	}
	return fmt.Errorf("codec %q: want json, yaml, string or bytes", m.Codec)
}

// checkBeside returns the error of two mounts that are ambiguous.
func (m Mount) checkBeside(o Mount) error {
	switch {
	case m.Prefix != "" && o.Prefix != "" && meet(m.Prefix, o.Prefix):
		return fmt.Errorf("the prefixes %q and %q meet: a key can be in one mount only", o.Prefix, m.Prefix)
	case m.Group != o.Group:
	case m.Plural == o.Plural:
		return fmt.Errorf("both are called %s.%s: give one of them another plural", m.Plural, m.Group)
	case strings.EqualFold(m.Kind, o.Kind):
		return fmt.Errorf("both are of the kind %s.%s: give one of them another kind", m.Kind, m.Group)
	case m.Plural == strings.ToLower(o.Kind), o.Plural == strings.ToLower(m.Kind), m.Kind == o.Kind+"List", o.Kind == m.Kind+"List":
		return fmt.Errorf("%s (%s) and %s (%s) can be taken for one another: choose other names", o.Plural, o.Kind, m.Plural, m.Kind)
	}
	return nil
}
