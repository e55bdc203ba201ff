package clients

import (
	"testing"

	"go.uber.org/goleak"

	"revtail/gateway/gatewaytest"
)

func TestMain(m *testing.M) {
	gatewaytest.Main(m,
		// client-go's logger flushes for ever.
		goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
		// The cache of controller-runtime filters its watches, and the filter waits for ever to hand on the event that it has in its
		// hand when the informer ends.
		goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
}
