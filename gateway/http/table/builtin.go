package table

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// builtinColumns are the columns of built-in kinds, as kubectl shows them.
var builtinColumns = map[schema.GroupKind]Columns{
	{Kind: "Pod"}:            podColumns,
	{Kind: "Service"}:        serviceColumns,
	{Kind: "Node"}:           nodeColumns,
	{Kind: "Namespace"}:      {nameColumn, stringColumn("Status", "Whether the namespace is in use or about to go.", namespaceStatus), ageColumn},
	{Kind: "ConfigMap"}:      {nameColumn, dataColumn("data", "binaryData"), ageColumn},
	{Kind: "Secret"}:         {nameColumn, textColumn("Type", "What the data is for.", "Opaque", "type"), dataColumn("data"), ageColumn},
	{Kind: "ServiceAccount"}: {nameColumn, secretsColumn, ageColumn},
	{Kind: "Event"}:          eventColumns,

	{Group: eventsv1.GroupName, Kind: "Event"}: eventColumns,
	{Group: coordinationv1.GroupName, Kind: "Lease"}: {
		nameColumn, textColumn("Holder", "Who holds the lease.", "", "spec", "holderIdentity"), ageColumn},

	{Group: appsv1.GroupName, Kind: "Deployment"}:  deploymentColumns,
	{Group: appsv1.GroupName, Kind: "ReplicaSet"}:  replicaSetColumns,
	{Group: appsv1.GroupName, Kind: "StatefulSet"}: statefulSetColumns,
	{Group: appsv1.GroupName, Kind: "DaemonSet"}:   daemonSetColumns,
	{Group: batchv1.GroupName, Kind: "Job"}:        jobColumns,
	{Group: batchv1.GroupName, Kind: "CronJob"}:    cronJobColumns,

	{Group: apiextensionsv1.GroupName, Kind: "CustomResourceDefinition"}: {nameColumn, createdColumn},
}

// createdColumn is a time and not an age, although its type is date, as in Kubernetes.
var createdColumn = column{name: "Created At", kind: "date", description: "When it was created.", cell: func(o jsonValue, _ time.Time) any {
	created := o.at("metadata", "creationTimestamp").time()
	if created.IsZero() {
		return unknown
	}
	return created.UTC().Format(time.RFC3339)
}}

func namespaceStatus(o jsonValue) string {
	if o.at("metadata", "deletionTimestamp").exists() {
		return "Terminating"
	}
	return o.at("status", "phase").textOr("Active")
}

func dataColumn(members ...string) column {
	return column{name: "Data", kind: "integer", description: "How many entries it has.", cell: func(o jsonValue, _ time.Time) any {
		var n int64
		for _, member := range members {
			n += int64(len(o.at(member).members()))
		}
		return n
	}}
}

var secretsColumn = column{name: "Secrets", kind: "integer", description: "How many secrets its pods may use.",
	cell: func(o jsonValue, _ time.Time) any { return int64(len(o.at("secrets").list())) }}

var serviceColumns = Columns{
	nameColumn,
	textColumn("Type", "How the service is reached.", "ClusterIP", "spec", "type"),
	stringColumn("Cluster-IP", "Its address inside the cluster.", clusterIP),
	stringColumn("External-IP", "Its addresses outside the cluster.", externalIP),
	stringColumn("Port(s)", "The ports it serves, with the ports of the nodes where there are such.", servicePorts),
	ageColumn,
	wide(stringColumn("Selector", "The labels of the pods behind it.", func(o jsonValue) string { return joined(o.at("spec", "selector").pairs()) })),
}

func clusterIP(o jsonValue) string {
	if all := o.at("spec", "clusterIPs").each(jsonValue.text); len(all) > 0 {
		return all[0]
	}
	return o.at("spec", "clusterIP").textOr(none)
}

func externalIP(o jsonValue) string {
	addresses := o.at("spec", "externalIPs").each(jsonValue.text)
	switch o.at("spec", "type").text() {
	case "ExternalName":
		return o.at("spec", "externalName").textOr(none)
	case "LoadBalancer":
		balancers := o.at("status", "loadBalancer", "ingress").each(func(i jsonValue) string { return i.at("ip").textOr(i.at("hostname").text()) })
		if addresses = slices.Concat(balancers, addresses); len(addresses) == 0 {
			return "<pending>"
		}
	}
	return joined(addresses)
}

func servicePorts(o jsonValue) string {
	return joined(o.at("spec", "ports").each(func(p jsonValue) string {
		port := p.at("port").scalar()
		if node := p.at("nodePort").count(0); node > 0 {
			port += ":" + strconv.FormatInt(node, 10)
		}
		return port + "/" + p.at("protocol").textOr("TCP")
	}))
}

var nodeColumns = Columns{
	nameColumn,
	stringColumn("Status", "Whether the node takes pods.", nodeStatus),
	stringColumn("Roles", "What the node is for.", nodeRoles),
	ageColumn,
	textColumn("Version", "The version of its kubelet.", "", "status", "nodeInfo", "kubeletVersion"),
	wide(stringColumn("Internal-IP", "Its address inside the cluster.", nodeAddress("InternalIP"))),
	wide(stringColumn("External-IP", "Its address outside the cluster.", nodeAddress("ExternalIP"))),
	wide(textColumn("OS-Image", "The operating system it runs.", unknown, "status", "nodeInfo", "osImage")),
	wide(textColumn("Kernel-Version", "The kernel it runs.", unknown, "status", "nodeInfo", "kernelVersion")),
	wide(textColumn("Container-Runtime", "What runs its containers.", unknown, "status", "nodeInfo", "containerRuntimeVersion")),
}

func nodeStatus(o jsonValue) string {
	status := "NotReady"
	switch o.condition("Ready") {
	case "":
		status = "Unknown"
	case "True":
		status = "Ready"
	}
	if o.at("spec", "unschedulable").isTrue() {
		status += ",SchedulingDisabled"
	}
	return status
}

func nodeRoles(o jsonValue) string {
	var roles []string
	labels := o.at("metadata", "labels")
	for name := range labels.members() {
		if role, ok := strings.CutPrefix(name, "node-role.kubernetes.io/"); ok && role != "" {
			roles = append(roles, role)
		} else if name == "kubernetes.io/role" && labels.at(name).text() != "" {
			roles = append(roles, labels.at(name).text())
		}
	}
	slices.Sort(roles)
	return joined(slices.Compact(roles))
}

func nodeAddress(kind string) func(o jsonValue) string {
	return func(o jsonValue) string {
		return o.at("status", "addresses").having("type", kind).at("address").textOr(none)
	}
}

// mountColumns are the columns of every mount. There is no age, because etcd does not store when a key was created.
var mountColumns = Columns{
	nameColumn,
	stringColumn("Value", "The value of the key, on one line and cut short.", func(o jsonValue) string {
		if why := o.at("undecodable"); why.exists() {
			return "<undecodable>"
		}
		text, _ := textCell(o.at("value")).(string)
		return shortened(text)
	}),
	stringColumn("Key", "The key in etcd; one that is not UTF-8 in base64.", func(o jsonValue) string {
		annotations := o.at("metadata", "annotations")
		return annotations.at("revtail/key").textOr(annotations.at("revtail/key64").text())
	}),
	wide(column{name: "Revision", kind: "string", description: "The revision of etcd in which the key was written last.",
		cell: func(o jsonValue, _ time.Time) any { return o.at("metadata", "resourceVersion").text() }}),
}

// shortened cuts a text to the size of a cell.
func shortened(text string) string {
	const most = 60
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	if runes := []rune(text); len(runes) > most {
		return fmt.Sprintf("%s…", string(runes[:most-1]))
	}
	return text
}
