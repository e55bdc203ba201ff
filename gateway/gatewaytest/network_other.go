//go:build !linux

package gatewaytest

import (
	"syscall"
	"testing"
)

func canOwnNetwork() bool { return false }

func ownNetworkAttr() *syscall.SysProcAttr { return nil }

func enterNetwork(*testing.T) {}
