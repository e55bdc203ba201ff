package kinds

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration"
	"k8s.io/kube-aggregator/pkg/registry/apiservice"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// notForwarded is the reason of an APIService that names another API server.
const notForwarded = "NotForwarded"

var (
	apiServices      = apiServiceStrategy{apiservice.NewStrategy(legacyscheme.Scheme)}
	apiServiceStatus = apiServiceStatusStrategy{apiservice.NewStatusStrategy(legacyscheme.Scheme)}
)

// apiServiceStrategy is Kubernetes' strategy of APIServices, and sets the condition Available, which controllers of a cluster set.
type apiServiceStrategy struct{ objectStrategy }

func (s apiServiceStrategy) PrepareForCreate(ctx context.Context, object runtime.Object) {
	s.objectStrategy.PrepareForCreate(ctx, object)
	setAvailable(object)
}

func (s apiServiceStrategy) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	s.objectStrategy.PrepareForUpdate(ctx, object, old)
	setAvailable(object)
}

// apiServiceStatusStrategy is the same of the status: clients may write other conditions than Available.
type apiServiceStatusStrategy struct{ updateStrategy }

func (s apiServiceStatusStrategy) PrepareForUpdate(ctx context.Context, object, old runtime.Object) {
	s.updateStrategy.PrepareForUpdate(ctx, object, old)
	setAvailable(object)
}

// setAvailable sets the condition Available of an APIService, which follows from its spec: revtail forwards no request to another API server.
func setAvailable(object runtime.Object) {
	of := object.(*apiregistration.APIService)
	condition := apiregistration.NewLocalAvailableAPIServiceCondition()
	if of.Spec.Service != nil {
		condition.Status, condition.Reason = apiregistration.ConditionFalse, notForwarded
		condition.Message = "revtail does not forward requests to other API servers"
	}
	apiregistration.SetAPIServiceCondition(of, condition)
}

// apiServiceTable makes the table of an APIService, as k8s.io/kube-aggregator/pkg/registry/apiservice/etcd does, which needs a store.
func apiServiceTable(object runtime.Object) (*metav1.Table, error) {
	of := object.(*apiregistration.APIService)
	service, available := "Local", string(apiregistration.ConditionUnknown)
	if named := of.Spec.Service; named != nil {
		service = named.Namespace + "/" + named.Name
	}
	if condition := apiregistration.GetAPIServiceConditionByType(of, apiregistration.Available); condition != nil {
		available = string(condition.Status)
		if condition.Status != apiregistration.ConditionTrue && condition.Reason != "" {
			available += " (" + condition.Reason + ")"
		}
	}
	described := metav1.ObjectMeta{}.SwaggerDoc()
	return &metav1.Table{
		ColumnDefinitions: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: described["name"]},
			{Name: "Service", Type: "string", Description: "The reference to the service that hosts this API endpoint."},
			{Name: "Available", Type: "string", Description: "Whether this service is available."},
			{Name: "Age", Type: "string", Description: described["creationTimestamp"]},
		},
		Rows: []metav1.TableRow{{Cells: []any{of.Name, service, available, table.ConvertToHumanReadableDateType(of.CreationTimestamp)}}},
	}, nil
}
