package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"revtail/etcdstore"
	"revtail/gateway/api/kinds"
	"revtail/gateway/claim"
)

// sampleKeys is the maximum number of keys that checkContent reads.
const sampleKeys = 1000

// checkContent reads a sample of the keys under the prefix and checks that the values are JSON objects.
func (d *doctor) checkContent(ctx context.Context) {
	page, err := d.store.List(ctx, d.cfg.EtcdPrefix+"/", etcdstore.ListOptions{Limit: sampleKeys})
	if errors.Is(err, etcdstore.ErrDenied) {
		d.report(failed, "content", err.Error(), "grant the user of --etcd-user reading and writing of "+d.cfg.EtcdPrefix+"/ and revtail/")
		return
	}
	if err != nil {
		d.report(failed, "content", err.Error(), "")
		return
	}
	undecodable, encrypted, example := 0, 0, ""
	protobuf := false
	for _, kv := range page.KVs {
		var object map[string]json.RawMessage
		switch isEncrypted := bytes.HasPrefix(kv.Value, []byte("k8s:enc:")); {
		case isEncrypted && d.owned:
			encrypted++
		case json.Unmarshal(kv.Value, &object) != nil:
			undecodable, example = undecodable+1, kv.Key
			protobuf = protobuf || isEncrypted || bytes.HasPrefix(kv.Value, []byte("k8s\x00"))
		}
	}
	summary := fmt.Sprintf("%d keys under %s", int64(len(page.KVs))+page.Remaining, d.cfg.EtcdPrefix)
	if page.Remaining > 0 {
		summary += fmt.Sprintf(", of which %d were read", len(page.KVs))
	}
	if encrypted > 0 {
		summary += fmt.Sprintf("; %d are encrypted, which only gateways with --encryption-provider-config can check", encrypted)
	}
	switch {
	case protobuf:
		d.report(warning, "content", fmt.Sprintf("%s; %d are values of a kube-apiserver, such as %q: revtail shows JSON only", summary, undecodable, example),
			"give --cluster, here and to `revtail serve`: it serves the objects of a cluster as its kube-apiserver does; or choose another --etcd-prefix")
	case undecodable > 0:
		d.report(warning, "content", fmt.Sprintf("%s; %d are not JSON objects, such as %q: lists and watches omit them", summary, undecodable, example), "correct or delete them")
	default:
		if encrypted > 0 {
			summary += "; all others are"
		} else {
			summary += ", all of them"
		}
		d.report(ok, "content", summary+" JSON objects", "")
	}
}

// checkClaim reports the owner of the data under the prefix.
func (d *doctor) checkClaim(ctx context.Context) {
	prefix := d.cfg.EtcdPrefix
	state, err := claim.Look(ctx, claim.Config{Store: d.store, Prefix: prefix, Cluster: d.cfg.Cluster, Builtin: kinds.Builtin(), Logger: slog.New(slog.DiscardHandler)})
	d.owned = err == nil && state.Owner == claim.Own
	switch {
	case err != nil:
		d.report(failed, "claim", err.Error(), "")
	case d.cfg.Cluster && state.Evidence == "":
		d.report(warning, "claim", state.Reason, "check --etcd-endpoints, and --etcd-prefix, which is that of the kube-apiserver")
	case d.cfg.Cluster:
		d.report(ok, "claim", fmt.Sprintf("the data under %s is a cluster's: %s", prefix, state.Reason), "")
	case state.Owner == claim.Kubernetes:
		d.report(warning, "claim", fmt.Sprintf("the data under %s is not revtail's own: %s", prefix, state.Reason),
			"give --cluster, here and to `revtail serve`, to read it as its kube-apiserver does; else choose a prefix of revtail's own: --etcd-prefix /revtail --adopt")
	case state.Owner == claim.Foreign:
		d.report(warning, "claim", fmt.Sprintf("the data under %s is not revtail's own: %s", prefix, state.Reason),
			"nothing, if clients only read it; --writable allows writes, --adopt makes it revtail's own")
	case state.Owner == claim.Unclaimed:
		d.report(ok, "claim", fmt.Sprintf("nothing is under %s: the first write makes it revtail's own", prefix), "")
	default:
		d.report(ok, "claim", fmt.Sprintf("the data under %s is revtail's own", prefix), "")
	}
}
