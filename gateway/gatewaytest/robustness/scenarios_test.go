package robustness

import "slices"

var scenarios = slices.Concat(etcdScenarios, gatewayScenarios, historyScenarios, networkScenarios, slowScenarios)
