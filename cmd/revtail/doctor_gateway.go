package main

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
	"revtail/gateway"
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

func (d *doctor) checkGateway(ctx context.Context, server string, access client.Config) {
	c, err := client.New(access)
	if err != nil {
		d.report(bad, "gateway", err.Error(), "")
		return
	}
	defer c.Close()
	began := time.Now()
	page, err := c.Page(ctx, "/readyz?verbose")
	if err != nil {
		d.gatewayRefuses(server, err)
		return
	}
	d.report(fine, "gateway", fmt.Sprintf("%s is ready (%v)", server, took(began)), "")
	d.checkProblems(page.Text)
	if version, err := c.Page(ctx, "/version"); err == nil {
		d.checkVersion(versionOf(version.Text))
	}
	d.proxy = proxyOf(page.Server)
	d.checkClock(page)
	d.checkResources(ctx, c)
}

// problemsToDo says what to do about the problems that a gateway which is ready tells by /readyz?verbose, by their names.
var problemsToDo = map[string]string{
	"claim":             "nothing, if it is meant to show what others keep; else name a prefix of revtail's own with --etcd-prefix",
	"garbage-collector": "look whether the owners are really gone, then restore them, delete the objects, or raise --garbage-collector-limit",
}

// checkProblems reports those problems. What it tells of etcd is found out from etcd itself.
func (d *doctor) checkProblems(ready string) {
	for line := range strings.Lines(ready) {
		problem, found := strings.CutPrefix(strings.TrimSpace(line), "[!]")
		name, text, _ := strings.Cut(problem, " ")
		if do := problemsToDo[name]; found && do != "" {
			d.report(warning, name, text, do)
		}
	}
}

func (d *doctor) gatewayRefuses(server string, err error) {
	refused := (*client.StatusError)(nil)
	var answered *net.OpError
	if errors.As(err, &answered) && answered.Op == backend.RemoteError {
		d.report(bad, "gateway", server+": "+err.Error(), "it wants a certificate of yours, or another one: give --cert and --key")
		return
	}
	if client.IsSchemeError(err) {
		d.report(bad, "gateway", err.Error(), "")
		return
	}
	if !errors.As(err, &refused) {
		d.report(bad, "gateway", server+": "+err.Error(), "is it running, is --server right, and does --cacert name the authority of its certificate?")
		return
	}
	switch refused.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		d.report(bad, "gateway", server+": "+refused.Message, "say who you are with --token-file, or --cert and --key")
	case http.StatusServiceUnavailable:
		d.report(bad, "gateway", server+" is not ready:\n"+refused.Message, "what has failed is marked with [-]; its log says why")
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		d.report(bad, "gateway", server+": "+refused.Message, "a proxy answers and finds no gateway behind it: look at its log and at the addresses that it has")
	default:
		d.report(bad, "gateway", server+": "+refused.Message, "is --server the URL of a gateway?")
	}
}

// checkVersion compares the gateway's version with that of this program.
func (d *doctor) checkVersion(version string) {
	switch own := gateway.GitVersion(programVersion()); {
	case !strings.Contains(version, "+revtail"):
		d.report(bad, "version", fmt.Sprintf("what answers is no revtail (its version is %q)", version), "is --server the URL of a gateway?")
	case version != own:
		d.report(warning, "version", fmt.Sprintf("the gateway is %s, this program %s", version, own), "run the same release on both sides")
	default:
		d.report(fine, "version", version, "")
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
