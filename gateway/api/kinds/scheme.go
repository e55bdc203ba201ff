package kinds

// The packages of the groups register their types, defaults and conversions in legacyscheme.Scheme, which the strategies use too.
import (
	"k8s.io/apimachinery/pkg/runtime"
	aggregation "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	_ "k8s.io/kubernetes/pkg/apis/storagemigration/install"
	"k8s.io/kubernetes/pkg/capabilities"
)

// A Pod may be privileged, as in a cluster whose kube-apiserver has --allow-privileged: nearly every one, because its network needs it.
func init() { capabilities.Setup(true, 0) }

// The types of APIServices are those of kube-aggregator, which has a scheme of its own.
func init() { aggregation.Install(legacyscheme.Scheme) }

// Scheme returns the types of the built-in kinds, with their defaults and conversions.
func Scheme() *runtime.Scheme { return legacyscheme.Scheme }
