package clients

import (
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"revtail/gateway/gatewaytest"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // controller-runtime waits for one, and complains
	gatewaytest.Main(m,
		// client-go's logger flushes for ever.
		goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"),
		// The cache of controller-runtime filters its watches, and the filter waits for ever to hand on the event that it has in its
		// hand when the informer ends.
		goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop"))
}
