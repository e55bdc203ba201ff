package robustness

import "slices"

var scenarios = slices.Concat(etcdScenarios, gatewayScenarios, historyScenarios, journalScenarios, networkScenarios, slowScenarios)
