package openapi

import (
	"k8s.io/kube-openapi/pkg/spec3"

	"revtail/gateway/api/schema"
)

// The query parameters of operations.
var (
	fieldsParameter = []*spec3.Parameter{
		queryParameter("fields", "string", "What of objects the answer has: paths such as spec.replicas,spec.containers[*].image. "+
			"What says which object it is stays: apiVersion, kind, metadata.name, metadata.namespace and metadata.resourceVersion."),
	}
	prettyParameter = []*spec3.Parameter{
		queryParameter("pretty", "boolean", "Whether the answer is indented for people to read."),
	}
	selectParameters = []*spec3.Parameter{
		queryParameter("labelSelector", "string", "Only objects with these labels, such as app=web,tier!=cache."),
		queryParameter("fieldSelector", "string", "Only objects with these fields, such as metadata.name=web."),
		queryParameter("filter", "string", "Only objects for which this expression in CEL is true, such as object.spec.replicas > 3. With old or type, which are the "+
			"state before and the type of an event, it chooses events of a watch."),
		queryParameter("limit", "integer", "How many objects one answer holds at most. The rest follows with continue."),
		queryParameter("continue", "string", "What metadata.continue of the page before said: go on from there, in the same state of the list."),
		queryParameter("resourceVersion", "string", "The state to list, or the one after which to watch. Not given: the latest."),
		queryParameter("resourceVersionMatch", "string", "How resourceVersion counts for a list: Exact or NotOlderThan."),
		queryParameter("timeoutSeconds", "integer", "When the request ends, whatever happens."),
	}
	watchParameters = []*spec3.Parameter{
		queryParameter("watch", "boolean", "Send the changes as they happen, one event a line, instead of a list."),
		queryParameter("allowWatchBookmarks", "boolean", "Send from time to time, in a watch, the resourceVersion up to which it is complete."),
		queryParameter("sendInitialEvents", "boolean", "Begin a watch with the state, as ADDED events and a bookmark that ends them."),
	}
	writeParameters = []*spec3.Parameter{
		queryParameter("dryRun", "string", "With the value All: check everything and answer as if it had been done, but do not write."),
		queryParameter("fieldManager", "string", "Who makes the change."),
		queryParameter("fieldValidation", "string", "What to do about unknown and duplicate fields: Ignore, Warn (the default) or Strict, which refuses them."),
	}
	forceParameter = []*spec3.Parameter{
		queryParameter("force", "boolean", "For apply patches: take over the fields that others manage."),
	}
	deleteParameters = []*spec3.Parameter{
		queryParameter("dryRun", "string", "With the value All: check everything and answer as if it had been done, but do not delete."),
		queryParameter("gracePeriodSeconds", "integer", "How long the object may take to end."),
		queryParameter("orphanDependents", "boolean", "Deprecated, use propagationPolicy: whether the objects that this one owns stay."),
		queryParameter("propagationPolicy", "string", "What becomes of the objects that this one owns: Orphan, Background or Foreground."),
	}
)

func queryParameter(name, kind, description string) *spec3.Parameter {
	return &spec3.Parameter{ParameterProps: spec3.ParameterProps{Name: name, In: "query", Description: description, Schema: schema.Scalar(kind, "")}}
}

func pathParameter(name, description string) *spec3.Parameter {
	return &spec3.Parameter{ParameterProps: spec3.ParameterProps{
		Name: name, In: "path", Description: description, Required: true, Schema: schema.Scalar("string", ""),
	}}
}
