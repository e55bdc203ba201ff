package apiservices

import "k8s.io/apimachinery/pkg/runtime/schema"

// priority is the priority of a group and of a version in it, by which clients of a cluster order them.
type priority struct{ group, version int32 }

// ofDefinitions is the priority of what CustomResourceDefinitions serve, and of mounts.
var ofDefinitions = priority{1000, 100}

// priorities are those of kube-apiserver, which has them in a program and not in a package. A test compares them.
var priorities = map[schema.GroupVersion]priority{
	{Version: "v1"}: {18000, 1},
	{Group: "admissionregistration.k8s.io", Version: "v1"}: {16700, 15},
	{Group: "apiextensions.k8s.io", Version: "v1"}:         {16700, 15},
	{Group: "apps", Version: "v1"}:                         {17800, 15},
	{Group: "authentication.k8s.io", Version: "v1"}:        {17700, 15},
	{Group: "authorization.k8s.io", Version: "v1"}:         {17600, 15},
	{Group: "autoscaling", Version: "v1"}:                  {17500, 15},
	{Group: "autoscaling", Version: "v2"}:                  {17500, 30},
	{Group: "batch", Version: "v1"}:                        {17400, 15},
	{Group: "certificates.k8s.io", Version: "v1"}:          {17300, 15},
	{Group: "coordination.k8s.io", Version: "v1"}:          {16500, 15},
	{Group: "discovery.k8s.io", Version: "v1"}:             {16200, 15},
	{Group: "events.k8s.io", Version: "v1"}:                {17750, 15},
	{Group: "flowcontrol.apiserver.k8s.io", Version: "v1"}: {16100, 21},
	{Group: "networking.k8s.io", Version: "v1"}:            {17200, 15},
	{Group: "node.k8s.io", Version: "v1"}:                  {16300, 15},
	{Group: "policy", Version: "v1"}:                       {17100, 15},
	{Group: "rbac.authorization.k8s.io", Version: "v1"}:    {17000, 15},
	{Group: "resource.k8s.io", Version: "v1"}:              {16200, 21},
	{Group: "scheduling.k8s.io", Version: "v1"}:            {16600, 15},
	{Group: "storage.k8s.io", Version: "v1"}:               {16800, 15},
	{Group: "storagemigration.k8s.io", Version: "v1"}:      {15800, 15},
}

// priorityOf returns the priority of a group and version that the server itself serves.
func priorityOf(gv schema.GroupVersion) priority {
	if p, ok := priorities[gv]; ok {
		return p
	}
	return ofDefinitions
}
