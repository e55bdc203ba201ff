// Package selector implements Kubernetes' label selectors and field selectors. A field selector may name any scalar field of any
// resource, not only declared ones.
package selector

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"revtail/encoding/jsontext"
)

// maxLength bounds the text of one selector, in bytes, because every event is matched.
const maxLength = 16 << 10

// maxRequirements bounds the requirements of one selector.
const maxRequirements = 32

// Object is the input of a selector.
type Object interface {
	SelectNamespace() string
	SelectName() string
	SelectLabels() labels.Labels
	// SelectDocument is the object's JSON, for fields other than name and namespace.
	SelectDocument() []byte
}

// Selector is a conjunction of label and field requirements. The zero value and nil match everything.
// It is immutable and safe for concurrent use.
type Selector struct {
	labels labels.Selector
	fields []field
}

type field struct {
	path   []string
	value  string
	negate bool
}

// Parse reads the two query parameters of a request; an empty one requires nothing. The error is for the client.
func Parse(labelSelector, fieldSelector string) (*Selector, error) {
	if len(labelSelector) > maxLength || len(fieldSelector) > maxLength {
		return nil, fmt.Errorf("a selector may have at most %d bytes", maxLength)
	}
	s := &Selector{}
	if labelSelector != "" {
		parsed, err := labels.Parse(labelSelector)
		if err != nil {
			return nil, err
		}
		if requirements, _ := parsed.Requirements(); len(requirements) > maxRequirements {
			return nil, fmt.Errorf("a label selector may have at most %d requirements", maxRequirements)
		}
		s.labels = parsed
	}
	var err error
	s.fields, err = parseFields(fieldSelector)
	return s, err
}

func parseFields(text string) ([]field, error) {
	if text == "" {
		return nil, nil
	}
	parsed, err := fields.ParseSelector(text)
	if err != nil {
		return nil, err
	}
	requirements := parsed.Requirements()
	if len(requirements) > maxRequirements {
		return nil, fmt.Errorf("a field selector may have at most %d requirements", maxRequirements)
	}
	out := make([]field, 0, len(requirements))
	for _, r := range requirements {
		path, err := parsePath(r.Field)
		if err != nil {
			return nil, err
		}
		out = append(out, field{path: path, value: r.Value, negate: r.Operator == selection.NotEquals})
	}
	return out, nil
}

var errEmptyField = errors.New("a field selector needs a field name before the operator, for example metadata.name=x")

// parsePath splits a field such as spec.nodeName into member names.
func parsePath(name string) ([]string, error) {
	if name == "" {
		return nil, errEmptyField
	}
	path := strings.Split(strings.TrimPrefix(name, "."), ".")
	for _, member := range path {
		if member == "" || strings.ContainsAny(member, " \t\r\n()[]{}\"'") {
			return nil, fmt.Errorf("field label not supported: %s", name)
		}
	}
	return path, nil
}

// Empty reports whether the selector matches everything.
func (s *Selector) Empty() bool {
	return s == nil || (s.labels == nil || s.labels.Empty()) && len(s.fields) == 0
}

// Matches reports whether an object meets every requirement. An absent field has the value "".
func (s *Selector) Matches(o Object) bool {
	if s == nil {
		return true
	}
	if s.labels != nil && !s.labels.Matches(o.SelectLabels()) {
		return false
	}
	for i := range s.fields {
		if !s.fields[i].matches(o) {
			return false
		}
	}
	return true
}

func (f *field) matches(o Object) bool {
	return (f.lookup(o) == f.value) != f.negate
}

// isNameOrNamespace reports whether the field is metadata.name or metadata.namespace.
func (f *field) isNameOrNamespace() bool {
	return len(f.path) == 2 && f.path[0] == "metadata" && (f.path[1] == "name" || f.path[1] == "namespace")
}

func (f *field) lookup(o Object) string {
	if f.isNameOrNamespace() {
		if f.path[1] == "name" {
			return o.SelectName()
		}
		return o.SelectNamespace()
	}
	value, _ := jsontext.Lookup(o.SelectDocument(), f.path)
	return value
}

// Fields are the paths of the selector's fields.
func (s *Selector) Fields() [][]string {
	if s == nil {
		return nil
	}
	paths := make([][]string, len(s.fields))
	for i, f := range s.fields {
		paths[i] = f.path
	}
	return paths
}

// Name is the only name that can match, if the selector requires metadata.name=x.
func (s *Selector) Name() (string, bool) { return s.requiredMetadata("name") }

// Namespace is the only namespace that can match, if the selector requires metadata.namespace=x.
func (s *Selector) Namespace() (string, bool) { return s.requiredMetadata("namespace") }

func (s *Selector) requiredMetadata(member string) (string, bool) {
	if s == nil {
		return "", false
	}
	for _, f := range s.fields {
		if !f.negate && len(f.path) == 2 && f.path[0] == "metadata" && f.path[1] == member {
			return f.value, true
		}
	}
	return "", false
}

// WithName adds metadata.name=name.
func (s *Selector) WithName(name string) *Selector {
	out := &Selector{}
	if s != nil {
		*out = *s
	}
	out.fields = append(append([]field(nil), out.fields...), field{path: []string{"metadata", "name"}, value: name})
	return out
}

// Equality is a requirement that a label or field has one value.
type Equality struct {
	Key     string // of the label or field
	Value   string
	valueOf func(Object) string
}

// Of is the object's value of the label or field; "": it has none.
func (e Equality) Of(o Object) string { return e.valueOf(o) }

// Equality returns one such requirement of the selector, other than name and namespace, if there is one.
func (s *Selector) Equality() (Equality, bool) {
	if s == nil {
		return Equality{}, false
	}
	for i := range s.fields {
		if f := &s.fields[i]; !f.negate && !f.isNameOrNamespace() {
			return Equality{Key: "field " + strings.Join(f.path, "."), Value: f.value, valueOf: f.lookup}, true
		}
	}
	if s.labels == nil {
		return Equality{}, false
	}
	requirements, _ := s.labels.Requirements()
	for _, r := range requirements {
		if values := r.Values(); len(values) == 1 && (r.Operator() == selection.Equals || r.Operator() == selection.DoubleEquals || r.Operator() == selection.In) {
			label := r.Key()
			of := func(o Object) string { return o.SelectLabels().Get(label) }
			return Equality{Key: "label " + label, Value: values.UnsortedList()[0], valueOf: of}, true
		}
	}
	return Equality{}, false
}
