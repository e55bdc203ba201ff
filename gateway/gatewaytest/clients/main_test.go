package clients

import (
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"revtail/gateway/gatewaytest"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // because controller-runtime waits for a logger, and complains
	gatewaytest.Main(m,
		// client-go's logger never stops flushing.
		goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
		// The cache of controller-runtime filters its watches, and the goroutine of the filter blocks forever on its current event when the
		// informer ends.
		goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
}
