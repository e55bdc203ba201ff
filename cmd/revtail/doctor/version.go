package doctor

import (
	"encoding/json"
	"fmt"
	"strings"

	"revtail/gateway/api/discovery"
)

// gitVersion reads the document of /version.
func gitVersion(document string) string {
	var version struct{ GitVersion string }
	if err := json.Unmarshal([]byte(document), &version); err != nil {
		return "unknown: " + err.Error()
	}
	return version.GitVersion
}

// checkVersion compares the version of the gateway with that of this program.
func (d *doctor) checkVersion(version string) {
	switch own := discovery.GitVersion(d.version); {
	case !strings.Contains(version, "+revtail"):
		d.report(failed, "version", fmt.Sprintf("what answers is no revtail (its version is %q)", version), "is --server the URL of a gateway?")
	case version != own:
		d.report(warning, "version", fmt.Sprintf("the gateway is %s, this program %s", version, own), "run the same release on both sides")
	default:
		d.report(ok, "version", version, "")
	}
}
