package kinds

import (
	"slices"

	"revtail/gateway/resource"
)

// returned are the resources, by their group, whose deleted objects a kube-apiserver returns: rest.Storage says so (ReturnDeletedObject), which
// the strategies do not know.
var returned = map[string][]string{
	"":                {"namespaces", "persistentvolumeclaims", "persistentvolumes", "pods", "podtemplates", "resourcequotas", "serviceaccounts", "services"},
	"resource.k8s.io": {"deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourcepoolstatusrequests", "resourceslices"},
	"storage.k8s.io":  {"csidrivers", "csinodes", "storageclasses", "volumeattachments", "volumeattributesclasses"},
}

// setDeletion sets how a DELETE of an object of a kind is answered, and what it does with dependents without a propagation policy: the
// strategies of ReplicationControllers and Jobs say DefaultGarbageCollectionPolicy, and the store of Jobs warns.
func setDeletion(res *resource.Resource) {
	res.ReturnsDeleted = slices.Contains(returned[res.Group], res.Plural)
	switch res.QualifiedName() {
	case "replicationcontrollers":
		res.OrphansDependents = true
	case "jobs.batch":
		res.OrphansDependents = true
		res.DeletionWarning = "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them " +
			"or set propagationPolicy=Orphan to suppress this warning"
	}
}
