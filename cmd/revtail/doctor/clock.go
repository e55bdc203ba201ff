package doctor

import (
	"fmt"
	"net/http"
	"time"

	"revtail/cmd/revtail/client"
)

// maxClockSkew is the difference of clocks that certificates and tokens tolerate. The Date header has a resolution of 1 s.
const maxClockSkew = 5 * time.Second

func (d *doctor) checkClock(page client.Page) {
	remote, err := http.ParseTime(page.Date)
	if err != nil {
		d.report(skipped, "clock", "the gateway does not say what time it is", "")
		return
	}
	if skew := time.Since(remote).Round(time.Second); skew.Abs() > maxClockSkew {
		d.report(warning, "clock", fmt.Sprintf("this machine's is off from the gateway's by %v: certificates and tokens may be refused", skew), "synchronize both with NTP")
		return
	}
	d.report(ok, "clock", "this machine's and the gateway's agree", "")
}
