package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"revtail/cmd/revtail/backend"
	"revtail/cmd/revtail/client"
	"revtail/etcdstore"
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
		d.checkVersion(gitVersion(version.Text))
	}
	d.proxy = proxyOf(page.Server)
	d.checkClock(page)
	d.checkResources(ctx, c)
}

// reportNotReady explains the error of /readyz.
func (d *doctor) reportNotReady(server string, err error) {
	status := (*client.StatusError)(nil)
	var remote *net.OpError
	if errors.As(err, &remote) && remote.Op == backend.RemoteError {
		d.report(failed, "gateway", server+": "+err.Error(), "it requires a client certificate that it trusts: give --cert and --key")
		return
	}
	if client.IsSchemeError(err) {
		d.report(failed, "gateway", err.Error(), "")
		return
	}
	if !errors.As(err, &status) {
		d.report(failed, "gateway", server+": "+err.Error(), "is it running, is --server right, and does --cacert name the authority of its certificate?")
		return
	}
	switch status.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		d.report(failed, "gateway", server+": "+status.Message, "authenticate with --token-file, or with --cert and --key")
	case http.StatusServiceUnavailable:
		d.report(failed, "gateway", server+" is not ready:\n"+status.Message, "what has failed is marked with [-]; its log says why")
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		d.report(failed, "gateway", server+": "+status.Message, "a proxy answers and finds no gateway behind it: look at its log and at its upstream addresses")
	default:
		d.report(failed, "gateway", server+": "+status.Message, "is --server the URL of a gateway?")
	}
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
