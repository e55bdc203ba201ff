// Package selector implements Kubernetes' label selectors and field selectors. A field selector may name any scalar field of any
// resource, not only declared ones.
package selector

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
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
	Namespace() string
	Name() string
	SelectLabels() labels.Labels
	// SelectDocument is the object's JSON, for fields other than name and namespace.
	SelectDocument() []byte
}

// Selector is a conjunction of label and field requirements. The zero value and nil match everything.
// It is immutable and safe for concurrent use.
type Selector struct {
	labels       labels.Selector
	requirements int // of labels
	fields       []field
}

type field struct {
	name   string // the members of path, with dots between
	path   []string
	others [][]string // the paths that are read one after the other while the value is empty
	absent string     // the value of an object that has none
	value  string
	negate bool
}

// The fields that every object has, also one without a document.
const (
	nameField      = "metadata.name"
	namespaceField = "metadata.namespace"
)

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
		requirements, _ := parsed.Requirements()
		if len(requirements) > maxRequirements {
			return nil, fmt.Errorf("a label selector may have at most %d requirements", maxRequirements)
		}
		s.labels, s.requirements = parsed, len(requirements)
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
		out = append(out, field{name: strings.Join(path, "."), path: path, value: r.Value, negate: r.Operator == selection.NotEquals})
	}
	return out, nil
}

// parsePath splits a field such as spec.nodeName into member names.
func parsePath(name string) ([]string, error) {
	if name == "" {
		return nil, errors.New("a field selector needs a field name before the operator, for example metadata.name=x")
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

// Matches reports whether an object meets every requirement. An absent field has the value "", or that of WithAbsent.
func (s *Selector) Matches(o Object) bool {
	if s == nil {
		return true
	}
	if s.labels != nil && !s.labels.Matches(o.SelectLabels()) {
		return false
	}
	for i := range s.fields {
		if f := &s.fields[i]; (f.lookup(o) == f.value) == f.negate {
			return false
		}
	}
	return true
}

// BytesRead returns how many bytes Matches reads at most, of an object with so many bytes of labels and in its document.
func (s *Selector) BytesRead(labels, document int) int {
	bytes := labels * s.requirements
	for i := range s.fields {
		if f := &s.fields[i]; f.name != nameField && f.name != namespaceField {
			bytes += document * (1 + len(f.others))
		}
	}
	return bytes
}

func (f *field) lookup(o Object) string {
	switch f.name {
	case nameField:
		return o.Name()
	case namespaceField:
		return o.Namespace()
	}
	value, _ := jsontext.Lookup(o.SelectDocument(), f.path)
	for _, path := range f.others {
		if value == "" {
			value, _ = jsontext.Lookup(o.SelectDocument(), path)
		}
	}
	return cmp.Or(value, f.absent)
}

// WithAbsent returns a selector in which an absent field has a value.
func (s *Selector) WithAbsent(name, value string) *Selector {
	out := *s
	out.fields = slices.Clone(s.fields)
	for i := range out.fields {
		if f := &out.fields[i]; f.name == name {
			f.absent = value
		}
	}
	return &out
}

// WithPaths returns a selector that reads a field, whose name is no path, at paths: at the first one that has a value.
func (s *Selector) WithPaths(name string, paths [][]string) *Selector {
	out := *s
	out.fields = slices.Clone(s.fields)
	for i := range out.fields {
		if f := &out.fields[i]; f.name == name {
			f.name, f.path, f.others = strings.Join(paths[0], "."), paths[0], paths[1:]
		}
	}
	return &out
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
func (s *Selector) Name() (string, bool) { return s.required(nameField) }

// Namespace is the only namespace that can match, if the selector requires metadata.namespace=x.
func (s *Selector) Namespace() (string, bool) { return s.required(namespaceField) }

func (s *Selector) required(name string) (string, bool) {
	if s == nil {
		return "", false
	}
	for _, f := range s.fields {
		if !f.negate && f.name == name {
			return f.value, true
		}
	}
	return "", false
}

// Equality is a requirement that a label or field has one value.
type Equality struct {
	Key   string // of the label or field
	Value string
	Of    func(Object) string // the object's value of the label or field; "": it has none
}

// Equality returns one such requirement of the selector, other than name and namespace, if there is one.
func (s *Selector) Equality() (Equality, bool) {
	if s == nil {
		return Equality{}, false
	}
	for i := range s.fields {
		if f := &s.fields[i]; !f.negate && f.name != nameField && f.name != namespaceField {
			return Equality{Key: "field " + f.name, Value: f.value, Of: f.lookup}, true
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
			return Equality{Key: "label " + label, Value: values.UnsortedList()[0], Of: of}, true
		}
	}
	return Equality{}, false
}
