package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"revtail/cmd/revtail/client"
	"revtail/etcdstore"
)

// versionOf reads what /version says.
func versionOf(page string) string {
	var version struct{ GitVersion string }
	if err := json.Unmarshal([]byte(page), &version); err != nil {
		return "unknown: " + err.Error()
	}
	return version.GitVersion
}

// clockSkew is by how much clocks may differ: Date has seconds, and certificates and tokens forgive about as much.
const clockSkew = 5 * time.Second

func (d *doctor) checkGateway(ctx context.Context) {
	if d.store != nil {
		defer func() { _ = d.store.Close() }()
	}
	c, err := client.New(d.access)
	if err != nil {
		d.report(bad, "gateway", err.Error(), "")
		return
	}
	defer c.Close()
	began := time.Now()
	page, err := c.Page(ctx, "/readyz?verbose")
	if err != nil {
		d.gatewayRefuses(err)
		return
	}
	d.report(fine, "gateway", fmt.Sprintf("%s is ready (%v)", strings.Join(d.access.Servers, ", "), took(began)), "")
	if version, err := c.Page(ctx, "/version"); err == nil {
		d.report(fine, "version", versionOf(version.Text), "")
	}
	d.checkClock(page)
	d.checkResources(ctx, c)
}

func (d *doctor) gatewayRefuses(err error) {
	servers := strings.Join(d.access.Servers, ", ")
	refused := (*client.StatusError)(nil)
	if !errors.As(err, &refused) {
		d.report(bad, "gateway", servers+": "+err.Error(), "is it running, is --server right, and does --cacert name the authority of its certificate?")
		return
	}
	switch refused.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		d.report(bad, "gateway", servers+": "+refused.Message, "say who you are with --token-file, or --cert and --key")
	case http.StatusServiceUnavailable:
		d.report(bad, "gateway", servers+" is not ready:\n"+refused.Message, "what has failed is marked with [-]; its log says why")
	default:
		d.report(bad, "gateway", servers+": "+refused.Message, "is --server the URL of a gateway?")
	}
}

func (d *doctor) checkClock(page client.Page) {
	there, err := http.ParseTime(page.Date)
	if err != nil {
		d.report(skipped, "clock", "the gateway does not say what time it is", "")
		return
	}
	if off := time.Since(there).Round(time.Second); off.Abs() > clockSkew {
		d.report(warning, "clock", fmt.Sprintf("this machine's is off from the gateway's by %v: certificates and tokens may be refused", off), "synchronize both with NTP")
		return
	}
	d.report(fine, "clock", "this machine's and the gateway's agree", "")
}

func (d *doctor) checkResources(ctx context.Context, c *client.Client) {
	resources, err := c.Resources(ctx)
	if err != nil {
		d.report(bad, "resources", err.Error(), "")
		return
	}
	d.report(fine, "resources", fmt.Sprintf("%d are served", len(resources)), "")
	probe, err := client.Find(resources, "configmaps")
	if err != nil {
		probe = resources[0]
	}
	query := client.Query{Resource: probe, Fields: "metadata.name=revtail-doctor"} // an empty list, whatever there is
	list, err := c.List(ctx, query)
	if err != nil {
		d.report(skipped, "stream", fmt.Sprintf("%s cannot be listed: %v", probe.QualifiedName(), err), "")
		return
	}
	d.checkSameEtcd(ctx, list)
	d.checkStream(ctx, c, query)
}

// checkSameEtcd compares revisions: a fresh list has etcd's newest.
func (d *doctor) checkSameEtcd(ctx context.Context, list client.List) {
	if d.store == nil || d.before == 0 {
		return
	}
	after, err := d.store.Revision(ctx)
	if err != nil {
		return
	}
	if listed := etcdstore.Revision(list.Revision); listed < d.before || listed > after {
		d.report(bad, "same etcd", fmt.Sprintf("the gateway is at revision %d, this etcd at %d: they belong to two clusters, or the gateway is behind", listed, after),
			"compare the --etcd-endpoints of the gateway with those that were checked here")
		return
	}
	d.report(fine, "same etcd", fmt.Sprintf("the gateway is at etcd's revision %d", list.Revision), "")
}

// streamTime is how long a watch lasts that shows whether it is held back.
const streamTime = 3 * time.Second

// checkStream opens a watch that says something at once and then nothing.
func (d *doctor) checkStream(ctx context.Context, c *client.Client, query client.Query) {
	first, _, err := c.TimeStream(ctx, query, streamTime)
	switch {
	case err != nil:
		d.report(bad, "stream", "a watch fails: "+err.Error(), "")
		return
	case first > streamTime/2:
		d.report(bad, "stream", fmt.Sprintf("the first event of a watch took %v: something between here and the gateway holds streams back", first.Round(time.Millisecond)),
			"switch off buffering in the proxy: nginx proxy_buffering off; HAProxy no option http-buffer-response")
		return
	}
	d.report(fine, "stream", fmt.Sprintf("the first event of a watch arrives after %v", first.Round(time.Millisecond)), "")
	if d.idle == 0 {
		return
	}
	_, lasted, err := c.TimeStream(ctx, query, d.idle)
	if err != nil || lasted < d.idle-time.Second {
		d.report(bad, "idle", fmt.Sprintf("a silent watch was cut after %v (%v)", lasted.Round(time.Second), err),
			"raise the proxy's time limit for silent answers above 60 s, between two bookmarks: nginx proxy_read_timeout 2h; HAProxy timeout server 2h")
		return
	}
	d.report(fine, "idle", fmt.Sprintf("a silent watch is not cut within %v", d.idle), "")
}
