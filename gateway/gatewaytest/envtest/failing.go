package envtest

// failing says why tests fail that the document lists.
var failing = []rule{
	{
		suite: "controller-runtime", why: "It expects that a role limits what its user may do; revtail stores RBAC objects, and everyone who is authenticated may do everything",
		tests: []string{"should serve extra endpoints"},
	},
	{
		suite: "cluster-api", why: "It expects the error that a kube-apiserver makes of managedFields in a version that is no longer served; revtail applies the configuration",
		tests: []string{"controllers/crdmigrator: TestReconcile"},
	},
	{
		suite: "controller-runtime", why: "It downloads a kube-apiserver of another version, and the machine of this run has no way to the archive",
		tests: []string{"apiutil: TestApiMachinery/aggregatedDiscovery=false", "apiutil: TestLazyRestMapperProvider/aggregatedDiscovery=false"},
	},
}
