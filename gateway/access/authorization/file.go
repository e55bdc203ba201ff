package authorization

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Parse reads a policy file: Roles, ClusterRoles, RoleBindings and ClusterRoleBindings as YAML documents, or a List of them.
// It refuses unknown fields, because an ignored rule could be one that an operator relies on, and a file without any object, because a
// program may have truncated it before writing it again.
func Parse(content []byte) (*Policy, error) {
	all, given := file{}, file{}
	if err := all.read([]byte(builtin)); err != nil {
		return nil, fmt.Errorf("built in: %w", err)
	}
	if err := given.read(content); err != nil {
		return nil, err
	}
	if len(given) == 0 {
		return nil, errors.New("this file has no Role, ClusterRole or binding, and would deny everything to everybody: is it complete?")
	}
	maps.Copy(all, given)
	return all.policy()
}

// object is an object of one of the four kinds. check requires the fields that the kind has.
type object struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Rules           []Rule            `json:"rules"`
	RoleRef         *rbacv1.RoleRef   `json:"roleRef"`
	Subjects        []rbacv1.Subject  `json:"subjects"`
}

type key struct{ kind, namespace, name string }

func (k key) String() string {
	if k.namespace != "" {
		return fmt.Sprintf("%s %q in the namespace %q", k.kind, k.name, k.namespace)
	}
	return fmt.Sprintf("%s %q", k.kind, k.name)
}

// file has the objects of a policy file.
type file map[key]object

func (f file) read(content []byte) error {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for number := 1; ; number++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f.readDocument(document)
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", number, err)
		}
	}
}

func (f file) readDocument(document []byte) error {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return err
	}
	if bytes.Equal(text, []byte("null")) {
		return nil // only comments
	}
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return errors.New("want an object with apiVersion and kind, as a Role or a ClusterRoleBinding")
	}
	if list.Kind != "List" {
		return f.add(text)
	}
	for i, item := range list.Items {
		if err := f.add(item); err != nil {
			return fmt.Errorf("item %d: %w", i+1, err)
		}
	}
	return nil
}

func (f file) add(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var o object
	if err := decoder.Decode(&o); err != nil {
		return err
	}
	if want := rbacv1.SchemeGroupVersion.String(); o.APIVersion != want {
		return fmt.Errorf("apiVersion %q: want %s", o.APIVersion, want)
	}
	k := key{o.Kind, o.Metadata.Namespace, o.Metadata.Name}
	if err := o.check(); err != nil {
		return fmt.Errorf("%v: %w", k, err)
	}
	if _, twice := f[k]; twice {
		return fmt.Errorf("%v is there twice", k)
	}
	f[k] = o
	return nil
}

func (o object) check() error {
	binding, namespaced := strings.HasSuffix(o.Kind, "Binding"), !strings.HasPrefix(o.Kind, "Cluster")
	if !slices.Contains([]string{"ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"}, o.Kind) {
		return errors.New("want a Role, a ClusterRole, a RoleBinding or a ClusterRoleBinding")
	}
	switch {
	case o.Metadata.Name == "":
		return errors.New("metadata.name is missing")
	case namespaced && o.Metadata.Namespace == "":
		return errors.New("metadata.namespace is missing")
	case !namespaced && o.Metadata.Namespace != "":
		return errors.New("it is in no namespace")
	case binding && (o.RoleRef == nil || o.Rules != nil):
		return errors.New("want roleRef and subjects")
	case !binding && (o.RoleRef != nil || o.Subjects != nil):
		return errors.New("want rules")
	}
	for i, rule := range o.Rules {
		if err := rule.check(namespaced); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

// policy joins bindings with the roles that they refer to.
func (f file) policy() (*Policy, error) {
	p := &Policy{users: make(map[string][]grant), groups: make(map[string][]grant)}
	roles := make(map[key]*role)
	for k, o := range f {
		if o.RoleRef == nil {
			roles[k] = &role{name: o.Metadata.Name, rules: o.Rules}
		}
	}
	for k, o := range f {
		if o.RoleRef == nil {
			continue
		}
		referred, err := o.role()
		if err == nil && roles[referred] == nil {
			err = fmt.Errorf("%v is not in this file", referred)
		}
		if err == nil {
			err = p.bind(o, grant{binding: k.String(), role: roles[referred], namespace: k.namespace})
		}
		if err != nil {
			return nil, fmt.Errorf("%v: %w", k, err)
		}
	}
	return p, nil
}

// role returns the key of the role of a binding.
func (o object) role() (key, error) {
	ref := o.RoleRef
	if ref.APIGroup != "" && ref.APIGroup != rbacv1.GroupName {
		return key{}, fmt.Errorf("roleRef.apiGroup %q: want %s", ref.APIGroup, rbacv1.GroupName)
	}
	switch {
	case ref.Kind == "ClusterRole":
		return key{kind: ref.Kind, name: ref.Name}, nil
	case ref.Kind == "Role" && o.Kind == "RoleBinding":
		return key{ref.Kind, o.Metadata.Namespace, ref.Name}, nil
	}
	return key{}, fmt.Errorf("roleRef.kind %q: want ClusterRole or, in a RoleBinding, Role", ref.Kind)
}

// bind grants the role of a binding to its subjects.
func (p *Policy) bind(o object, g grant) error {
	for i, s := range o.Subjects {
		group := s.APIGroup == "" || s.APIGroup == rbacv1.GroupName
		if s.Kind == rbacv1.ServiceAccountKind && s.Namespace == "" {
			s.Namespace = o.Metadata.Namespace
		}
		switch {
		case s.Name == "":
			return fmt.Errorf("subject %d: name is missing", i+1)
		case s.Kind == rbacv1.UserKind && group:
			p.users[s.Name] = append(p.users[s.Name], g)
		case s.Kind == rbacv1.GroupKind && group:
			p.groups[s.Name] = append(p.groups[s.Name], g)
		case s.Kind == rbacv1.ServiceAccountKind && s.APIGroup == "" && s.Namespace != "":
			name := "system:serviceaccount:" + s.Namespace + ":" + s.Name
			p.users[name] = append(p.users[name], g)
		default:
			return fmt.Errorf("subject %d: want kind User, Group or ServiceAccount, the last with a namespace", i+1)
		}
	}
	return nil
}
