package gatewaytest_test

import (
	"testing"

	"revtail/gateway/gatewaytest"
)

func TestMain(m *testing.M) { gatewaytest.Main(m) }
