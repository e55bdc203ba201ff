package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"revtail/cmd/revtail/backend"
	"revtail/cmd/revtail/client"
	"revtail/etcdstore"
	"revtail/gateway/api/discovery"
)

func (d *doctor) checkGateway(ctx context.Context, server string, gateway client.Config) {
	c, err := client.New(gateway)
	if err != nil {
		d.report(failed, "gateway", err.Error(), "")
		return
	}
	defer c.Close()
	start := time.Now()
	page, err := c.Page(ctx, "/readyz?verbose")
	if err != nil {
		d.reportNotReady(server, err)
		return
	}
	d.report(ok, "gateway", fmt.Sprintf("%s is ready (%v)", server, elapsed(start)), "")
	d.checkProblems(page.Text)
	if version, err := c.Page(ctx, "/version"); err == nil {
		d.checkVersion(version.Text, strings.Contains(page.Text, "]kube-apiserver "))
	}
	d.proxy = proxyOf(page.Server)
	d.checkClock(page)
	d.checkJournal(ctx, c)
	d.checkResources(ctx, c)
}

// reportNotReady explains the error of /readyz.
func (d *doctor) reportNotReady(server string, err error) {
	var remote *net.OpError
	result, hint := server+": "+err.Error(), "check that --server is the URL of a gateway"
	switch status := (*client.StatusError)(nil); {
	case errors.As(err, &remote) && remote.Op == backend.RemoteError:
		hint = "it requires a client certificate that it trusts: give --cert and --key"
	case client.IsSchemeError(err):
		result, hint = err.Error(), ""
	case !errors.As(err, &status):
		hint = "check that it runs, that --server is right, and that --cacert has the authority of its certificate"
	case status.Code == http.StatusUnauthorized, status.Code == http.StatusForbidden:
		hint = "authenticate with --token-file, or with --cert and --key"
	case status.Code == http.StatusServiceUnavailable:
		result, hint = server+" is not ready:\n"+status.Message, "failed checks are marked with [-]; the log of the gateway has the reasons"
	case status.Code == http.StatusBadGateway, status.Code == http.StatusGatewayTimeout:
		hint = "a proxy answers but cannot reach a gateway: check its log and its upstream addresses"
	}
	d.report(failed, "gateway", result, hint)
}

func (d *doctor) checkResources(ctx context.Context, c *client.Client) {
	resources, err := c.Resources(ctx)
	if err != nil {
		d.report(failed, "resources", err.Error(), "")
		return
	}
	d.report(ok, "resources", fmt.Sprintf("%d are served", len(resources)), "")
	resource, err := client.Find(resources, "configmaps")
	if err != nil {
		resource = resources[0]
	}
	query := client.Query{Resource: resource, Fields: "metadata.name=revtail-doctor"} // selects no object
	list, err := c.List(ctx, query)
	if err != nil {
		d.report(skipped, "stream", fmt.Sprintf("%s cannot be listed: %v", resource.QualifiedName(), err), "")
		return
	}
	d.checkSameEtcd(ctx, list)
	d.checkStream(ctx, c, query)
}

// checkSameEtcd compares the revision of a fresh list with the revisions of etcd before and after it.
func (d *doctor) checkSameEtcd(ctx context.Context, list client.List) {
	if d.store == nil || d.revision == 0 {
		return
	}
	after, err := d.store.Revision(ctx)
	if err != nil {
		return
	}
	if listed := etcdstore.Revision(list.Revision); listed < d.revision || listed > after {
		d.report(failed, "same etcd", fmt.Sprintf("the gateway is at revision %d, this etcd at %d: they belong to two clusters, or the gateway is behind", listed, after),
			"compare the --etcd-endpoints of the gateway with those that were checked here")
		return
	}
	d.report(ok, "same etcd", fmt.Sprintf("the gateway is at etcd's revision %d", list.Revision), "")
}

// checkVersion compares the version of the gateway, in the document of /version, with that of this program. In front of a
// kube-apiserver, revtail has the version of that.
func (d *doctor) checkVersion(document string, ofKubeAPIServer bool) {
	var read struct{ GitVersion string }
	_ = json.Unmarshal([]byte(document), &read) // another document has no version of revtail
	switch version, own := read.GitVersion, discovery.GitVersion(d.build.Version); {
	case ofKubeAPIServer:
		d.report(ok, "version", version+", that of the kube-apiserver", "")
	case !strings.Contains(version, "+revtail"):
		d.report(failed, "version", fmt.Sprintf("the server is not revtail (its version is %q)", version), "check that --server is the URL of a gateway")
	case version != own:
		d.report(warning, "version", fmt.Sprintf("the gateway is %s, this program %s", version, own), "run the same release on both sides")
	default:
		d.report(ok, "version", version, "")
	}
}

// maxClockSkew is the difference of clocks that certificates and tokens tolerate. The Date header has a resolution of 1 s.
const maxClockSkew = 5 * time.Second

func (d *doctor) checkClock(page client.Page) {
	remote, err := http.ParseTime(page.Date)
	if err != nil {
		d.report(skipped, "clock", "the gateway sends no valid Date header", "")
		return
	}
	if skew := time.Since(remote).Round(time.Second); skew.Abs() > maxClockSkew {
		d.report(warning, "clock", fmt.Sprintf("this machine's differs from the gateway's by %v: certificates and tokens may be refused", skew), "synchronize both with NTP")
		return
	}
	d.report(ok, "clock", "this machine's and the gateway's agree", "")
}

// problemHints says what to do about the problems of a ready gateway, by their names in /readyz?verbose.
var problemHints = map[string]string{
	"claim":             "nothing, if clients only read the data of other programs; else choose a prefix of revtail's own with --etcd-prefix",
	"encryption":        "check the KMS plugins and the keys of --encryption-provider-config; the log of the gateway has the reasons",
	"kube-apiserver":    "check that it runs: its /readyz and its log have the reasons",
	"garbage-collector": "check whether the owners are really deleted, then restore them, delete the objects, or raise --garbage-collector-limit",
}

// checkProblems reports these problems. It skips the problems of etcd, because other checks read them from etcd.
func (d *doctor) checkProblems(ready string) {
	for line := range strings.Lines(ready) {
		problem, found := strings.CutPrefix(strings.TrimSpace(line), "[!]")
		name, text, _ := strings.Cut(problem, " ")
		if name == "claim" && d.cfg.Cluster {
			continue // it is meant to be so
		}
		if hint := problemHints[name]; found && hint != "" {
			d.report(warning, name, text, hint)
		}
	}
}
