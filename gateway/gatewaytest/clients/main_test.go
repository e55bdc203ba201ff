package clients

import (
	"testing"

	"go.uber.org/goleak"

	"revtail/gateway/gatewaytest"
)

func TestMain(m *testing.M) {
	gatewaytest.Main(m,
		// client-go's logger flushes for ever.
		goleak.IgnoreAnyFunction("k8s.io/klog/v2.(*flushDaemon).run.func1"))
}
