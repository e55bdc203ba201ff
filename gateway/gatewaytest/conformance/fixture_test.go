package conformance

import "slices"

// fixture is a kind that plays a part, with its differences from other kinds.
type fixture struct {
	group, version, plural, kind string

	body  func() object // the smallest valid object, without metadata, apiVersion and kind
	color string        // path of the string that plays the color
	note  string        // path of another string
	typo  string        // path of a field that the kind does not have

	status string // path of an integer of the status; empty: there is no status subresource
	scale  bool   // there is a scale subresource

	// schema: a CustomResourceDefinition declares the fields, so that a wrong type is 422, while a Go type gives 400.
	schema bool
	// keepsUnknown: revtail stores unknown fields of built-in kinds unchanged. Those of custom resources are pruned, and kube-apiserver
	// prunes both.
	keepsUnknown bool
	// strategic: strategic merge patches are accepted. They need Go types: a custom resource answers 415.
	strategic bool
	// unconditional: a PUT need not have a resourceVersion.
	unconditional bool
	// upsert: a PUT without a resourceVersion creates an absent object.
	upsert bool
}

func (f fixture) apiVersion() string {
	if f.group == "" {
		return f.version
	}
	return f.group + "/" + f.version
}

// root returns the URL of the group and version.
func (f fixture) root() string {
	if f.group == "" {
		return "/api/" + f.version
	}
	return "/apis/" + f.group + "/" + f.version
}

// collection returns the URL of a namespace's objects; of no namespace: all.
func (f fixture) collection(namespace string) string {
	if namespace == "" {
		return f.root() + "/" + f.plural
	}
	return f.root() + "/namespaces/" + namespace + "/" + f.plural
}

// cast has the kinds that play the parts.
type cast struct {
	name   string
	simple fixture // most of it
	rich   fixture // has a status subresource
	strict fixture // wants a resourceVersion in a PUT
}

// distinct returns the fixtures, each of them once.
func (c cast) distinct() []fixture {
	return slices.CompactFunc([]fixture{c.simple, c.rich, c.strict}, func(a, b fixture) bool { return a.plural == b.plural })
}

var builtin = cast{name: "built-in kinds", simple: configMaps, rich: deployments, strict: leases}

var configMaps = fixture{
	version: "v1", plural: "configmaps", kind: "ConfigMap",
	body:  func() object { return object{} },
	color: "data.color", note: "data.note", typo: "nope",
	keepsUnknown: true, strategic: true, unconditional: true,
}

// deployments do not change without a controller.
var deployments = fixture{
	group: "apps", version: "v1", plural: "deployments", kind: "Deployment",
	body: func() object {
		labels := object{"app": "conformance"}
		containers := []any{object{"name": "main", "image": "example.com/none"}}
		return object{"spec": object{
			"selector": object{"matchLabels": labels},
			"replicas": 0,
			"template": object{"metadata": object{"labels": labels}, "spec": object{"containers": containers}},
		}}
	},
	color: "spec.template.spec.hostname", note: "spec.template.spec.subdomain", typo: "spec.nope",
	status: "status.replicas", scale: true,
	keepsUnknown: true, strategic: true, unconditional: true,
}

var leases = fixture{
	group: "coordination.k8s.io", version: "v1", plural: "leases", kind: "Lease",
	body:  func() object { return object{} },
	color: "spec.holderIdentity", note: "spec.preferredHolder", typo: "spec.nope",
	keepsUnknown: true, strategic: true, upsert: true,
}

var custom = cast{name: "custom resources", simple: widgets, rich: widgets, strict: widgets}

// widgets is the kind that testdata/widgets.json declares.
var widgets = fixture{
	group: "example.com", version: "v1", plural: "widgets", kind: "Widget",
	body:  func() object { return object{} },
	color: "spec.color", note: "spec.note", typo: "spec.nope",
	status: "status.replicas", scale: true, schema: true,
}
