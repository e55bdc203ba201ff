package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Columns of the kinds that run pods by a template.
var (
	containersColumn, imagesColumn = containerColumns("spec", "template", "spec")

	selectorColumn = wide(stringColumn("Selector", "The labels of its pods.", podSelector))
	readyColumn    = stringColumn("Ready", "How many of its pods are ready, and how many there should be.", func(o jsonValue) string {
		return fmt.Sprintf("%d/%d", o.at("status", "readyReplicas").count(0), desiredReplicas(o))
	})
)

// containerColumns are the columns of the containers at the path of the spec of a pod.
func containerColumns(pod ...string) (containers, images column) {
	all := func(member string) func(o jsonValue) string {
		return func(o jsonValue) string {
			return strings.Join(o.at(pod...).at("containers").each(func(c jsonValue) string { return c.at(member).text() }), ",")
		}
	}
	containers = wide(stringColumn("Containers", "The containers of its pods.", all("name")))
	images = wide(stringColumn("Images", "What the containers are made of.", all("image")))
	return containers, images
}

// desiredReplicas returns spec.replicas, which is one by default.
func desiredReplicas(o jsonValue) int64 { return o.at("spec", "replicas").count(1) }

// podSelector returns the label selector of a workload, in the syntax of kubectl, sorted by label.
func podSelector(o jsonValue) string {
	selector := o.at("spec", "selector")
	terms := append(selector.at("matchLabels").pairs(), selector.at("matchExpressions").each(func(e jsonValue) string {
		key, values := e.at("key").text(), strings.Join(e.at("values").each(jsonValue.text), ",")
		switch e.at("operator").text() {
		case "In":
			return key + " in (" + values + ")"
		case "NotIn":
			return key + " notin (" + values + ")"
		case "DoesNotExist":
			return "!" + key
		}
		return key
	})...)
	slices.SortStableFunc(terms, func(a, b string) int { return strings.Compare(strings.TrimPrefix(a, "!"), strings.TrimPrefix(b, "!")) })
	return joined(terms)
}

var deploymentColumns = Columns{
	nameColumn, readyColumn,
	countColumn("Up-to-date", "How many of its pods are as the template is now.", "status", "updatedReplicas"),
	countColumn("Available", "How many of its pods have been ready for long enough.", "status", "availableReplicas"),
	ageColumn, containersColumn, imagesColumn, selectorColumn,
}

var replicaSetColumns = Columns{
	nameColumn,
	{name: "Desired", kind: "integer", description: "How many pods there should be.",
		cell: func(o jsonValue, _ time.Time) any { return desiredReplicas(o) }},
	countColumn("Current", "How many pods there are.", "status", "replicas"),
	countColumn("Ready", "How many of its pods are ready.", "status", "readyReplicas"),
	ageColumn, containersColumn, imagesColumn, selectorColumn,
}

var statefulSetColumns = Columns{nameColumn, readyColumn, ageColumn, containersColumn, imagesColumn}

var daemonSetColumns = Columns{
	nameColumn,
	countColumn("Desired", "How many nodes should run it.", "status", "desiredNumberScheduled"),
	countColumn("Current", "How many nodes run it that should.", "status", "currentNumberScheduled"),
	countColumn("Ready", "How many of its pods are ready.", "status", "numberReady"),
	countColumn("Up-to-date", "How many of its pods are as the template is now.", "status", "updatedNumberScheduled"),
	countColumn("Available", "How many of its pods have been ready for long enough.", "status", "numberAvailable"),
	stringColumn("Node Selector", "The labels of the nodes that should run it.", func(o jsonValue) string {
		return joined(o.at("spec", "template", "spec", "nodeSelector").pairs())
	}),
	ageColumn, containersColumn, imagesColumn, selectorColumn,
}

var jobColumns = Columns{
	nameColumn,
	stringColumn("Status", "Whether it runs, or how it has ended.", jobStatus),
	stringColumn("Completions", "How many of its pods have succeeded, and how many must.", jobCompletions),
	{name: "Duration", kind: "string", description: "How long it has run.", cell: jobDuration},
	ageColumn, containersColumn, imagesColumn, selectorColumn,
}

func jobStatus(o jsonValue) string {
	has := func(kind string) bool { return o.condition(kind) == "True" }
	switch {
	case has("Complete"):
		return "Complete"
	case has("Failed"):
		return "Failed"
	case o.at("metadata", "deletionTimestamp").exists():
		return "Terminating"
	}
	for _, kind := range []string{"Suspended", "FailureTarget", "SuccessCriteriaMet"} {
		if has(kind) {
			return kind
		}
	}
	return "Running"
}

func jobCompletions(o jsonValue) string {
	succeeded, parallelism := o.at("status", "succeeded").count(0), o.at("spec", "parallelism").count(1)
	switch completions := o.at("spec", "completions"); {
	case completions.exists():
		return fmt.Sprintf("%d/%d", succeeded, completions.count(1))
	case parallelism > 1:
		return fmt.Sprintf("%d/1 of %d", succeeded, parallelism)
	}
	return fmt.Sprintf("%d/1", succeeded)
}

func jobDuration(o jsonValue, now time.Time) any {
	began, ended := o.at("status", "startTime").time(), o.at("status", "completionTime").time()
	switch {
	case began.IsZero():
		return ""
	case ended.IsZero():
		ended = now
	}
	return duration.HumanDuration(ended.Sub(began))
}

var cronContainersColumn, cronImagesColumn = containerColumns("spec", "jobTemplate", "spec", "template", "spec")

var cronJobColumns = Columns{
	nameColumn,
	textColumn("Schedule", "When it runs, as cron says it.", "", "spec", "schedule"),
	textColumn("Timezone", "The time zone of the schedule.", none, "spec", "timeZone"),
	stringColumn("Suspend", "Whether it is told to run no more.", func(o jsonValue) string {
		if o.at("spec", "suspend").isTrue() {
			return "True"
		}
		return "False"
	}),
	{name: "Active", kind: "integer", description: "How many of its jobs run now.",
		cell: func(o jsonValue, _ time.Time) any { return int64(len(o.at("status", "active").list())) }},
	{name: "Last Schedule", kind: "string", description: "How long ago it last began.", cell: func(o jsonValue, now time.Time) any {
		if last := o.at("status", "lastScheduleTime"); last.exists() {
			return last.age(now)
		}
		return none
	}},
	ageColumn, cronContainersColumn, cronImagesColumn,
	wide(stringColumn("Selector", "The labels of its jobs' pods.", func(o jsonValue) string {
		return podSelector(o.at("spec", "jobTemplate"))
	})),
}
