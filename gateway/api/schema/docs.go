package schema

import (
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// docs are the descriptions of the types of CustomResourceDefinitions, which have no SwaggerDoc: by type and field, with that of the
// type itself under the empty name.
var docs = map[reflect.Type]map[string]string{
	reflect.TypeFor[apiextensionsv1.CustomResourceDefinition](): {
		"":         "CustomResourceDefinition defines a resource: what it is called, in which versions it is served, and what its objects look like.",
		"metadata": "What every object has. The name is that of the resource and of its group: widgets.example.com.",
		"spec":     "The resource as it should be.",
		"status":   "What has become of it: whether the resource is served.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionSpec](): {
		"":                      "CustomResourceDefinitionSpec is a resource as it should be.",
		"group":                 "The group in whose URLs the resource is served: example.com for /apis/example.com.",
		"names":                 "What the resource and its objects are called.",
		"scope":                 "Whether objects stand in namespaces: Namespaced or Cluster.",
		"versions":              "The versions of the resource. One of them is the one in which objects are stored.",
		"conversion":            "How an object of one version becomes one of another.",
		"preserveUnknownFields": "Whether fields that the schema does not know are kept. Deprecated: say so in the schema, by x-kubernetes-preserve-unknown-fields.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionNames](): {
		"":           "CustomResourceDefinitionNames is what a resource and its objects are called.",
		"plural":     "The name of the resource in URLs: widgets.",
		"singular":   "The name of one object for people: widget. Not given: the kind in lower case.",
		"shortNames": "Abbreviations that people may use for the resource.",
		"kind":       "The kind of the objects: Widget.",
		"listKind":   "The kind of lists of objects. Not given: the kind with List behind it.",
		"categories": "Names under which several resources are listed together, such as all.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionVersion](): {
		"":                         "CustomResourceDefinitionVersion is a version of a resource.",
		"name":                     "The name of the version: v1, v1beta1.",
		"served":                   "Whether the version can be used.",
		"storage":                  "Whether objects are stored in this version. That is so for exactly one.",
		"deprecated":               "Whether clients should move to another version.",
		"deprecationWarning":       "What to tell them.",
		"schema":                   "What objects of the version look like: by it they are checked, completed and pruned.",
		"subresources":             "The parts of an object that have URLs of their own.",
		"additionalPrinterColumns": "The columns of tables of objects, beside the name. Not given: the age.",
		"selectableFields":         "Fields by which field selectors are meant to choose objects. They may name any other field of the schema as well.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceValidation](): {
		"":                "CustomResourceValidation is the schema of a version.",
		"openAPIV3Schema": "The schema. It must be structural: every field has a type.",
	},
	reflect.TypeFor[apiextensionsv1.JSONSchemaProps](): {
		"": "JSONSchemaProps is a schema, in the language of OpenAPI v3 with the extensions of Kubernetes.",
	},
	reflect.TypeFor[apiextensionsv1.ValidationRule](): {
		"":                  "ValidationRule is a condition that values must fulfil.",
		"rule":              "The condition in the Common Expression Language, with self for the value, and oldSelf for the one that it replaces.",
		"message":           "What is answered where the condition is not fulfilled.",
		"messageExpression": "An expression that makes that message. It is preferred to message.",
		"reason":            "The reason of the refusal, for programs. Not given: FieldValueInvalid.",
		"fieldPath":         "The field that the refusal names, such as .spec.size. Not given: the value itself.",
		"optionalOldSelf":   "Whether a rule with oldSelf holds for new values too. oldSelf is then optional.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceSubresources](): {
		"":       "CustomResourceSubresources is the parts of an object that have URLs of their own.",
		"status": "Given, though empty: .status is written under /status, and only there.",
		"scale":  "Where an object keeps its replicas, which can be read and written under /scale.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceSubresourceScale](): {
		"":                   "CustomResourceSubresourceScale is where an object keeps its replicas.",
		"specReplicasPath":   "The path of how many there should be, below .spec: .spec.replicas.",
		"statusReplicasPath": "The path of how many there are, below .status: .status.replicas.",
		"labelSelectorPath":  "The path of a label selector, as a string, below .spec or .status.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceColumnDefinition](): {
		"":            "CustomResourceColumnDefinition is a column of tables.",
		"name":        "The head of the column.",
		"type":        "The type of what it shows: integer, number, string, boolean or date.",
		"format":      "The format, as in OpenAPI, of what it shows.",
		"description": "What the column shows, for people.",
		"priority":    "Zero: the column is always shown. Greater: only in wide tables.",
		"jsonPath":    "The path in an object of what is shown: .spec.color.",
	},
	reflect.TypeFor[apiextensionsv1.SelectableField](): {
		"":         "SelectableField is a field that field selectors may name.",
		"jsonPath": "The path of the field, which is a string, a boolean or an integer: .spec.color.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceConversion](): {
		"":         "CustomResourceConversion is how an object of one version becomes one of another.",
		"strategy": "None: only apiVersion changes. It is the only one that is supported.",
		"webhook":  "Not supported.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionStatus](): {
		"":                   "CustomResourceDefinitionStatus is what has become of a definition.",
		"conditions":         "NamesAccepted: nobody else has the names. Established: the resource is served. Terminating: its objects are being deleted.",
		"acceptedNames":      "The names under which the resource is served.",
		"storedVersions":     "The versions in which objects have ever been stored.",
		"observedGeneration": "The generation of the definition that this is about.",
	},
	reflect.TypeFor[apiextensionsv1.CustomResourceDefinitionCondition](): {
		"":                   "CustomResourceDefinitionCondition is one thing that is so, or is not.",
		"type":               "What it is about: NamesAccepted, Established or Terminating.",
		"status":             "Whether it is so: True, False or Unknown.",
		"lastTransitionTime": "When that changed.",
		"reason":             "Why it is so, in one word.",
		"message":            "Why it is so, for people.",
		"observedGeneration": "The generation of the definition that this is about.",
	},
}
