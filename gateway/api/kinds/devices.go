package kinds

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	clientcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/kubernetes/pkg/registry/certificates/podcertificaterequest"
	"k8s.io/kubernetes/pkg/registry/resource/resourceclaim"
)

// The strategies that ask a cluster for more than the object.
var (
	claimStrategy          = resourceclaim.NewStrategy(unreadNamespaces{}, permitted{})
	podCertificateStrategy = podcertificaterequest.NewStrategy()
)

// unreadNamespaces refuses claims with access to devices in use, which a cluster permits by a label of their Namespace.
type unreadNamespaces struct {
	clientcorev1.NamespaceInterface // nil: the strategies call no other method
}

// Get implements NamespaceInterface.
func (unreadNamespaces) Get(context.Context, string, metav1.GetOptions) (*corev1.Namespace, error) {
	return nil, errors.New("revtail gives no admin access to devices")
}

// permitted permits what strategies check beyond the request itself, which the policy of the gateway has permitted: a verb on the signer or on
// the driver of an object.
type permitted struct{}

// Authorize implements authorizer.UnconditionalAuthorizer.
func (permitted) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}
