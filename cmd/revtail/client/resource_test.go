package client_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/cmd/revtail/client"
)

func TestFind(t *testing.T) {
	resources := []client.Resource{
		{Version: "v1", Plural: "events", Singular: "event", Kind: "Event", ShortNames: []string{"ev"}},
		{Group: "apps", Version: "v1", Plural: "deployments", Singular: "deployment", Kind: "Deployment", ShortNames: []string{"deploy"}},
		{Group: "events.k8s.io", Version: "v1", Plural: "events", Singular: "event", Kind: "Event"},
		{Group: "x.io", Version: "v1", Plural: "things", Kind: "Thing"},
		{Group: "x.io", Version: "v2", Plural: "things", Kind: "Thing"},
	}
	for name, found := range map[string]client.Resource{
		"events": resources[0], "ev": resources[0], "Event": resources[0], "events.events.k8s.io": resources[2], "deployment": resources[1],
		"deploy.apps": resources[1], "deployments.v1.apps": resources[1], "thing": resources[3], "things.v2.x.io": resources[4], "events.v1": resources[0],
	} {
		got, err := client.Find(resources, name)
		if diff := cmp.Diff(found, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	for _, name := range []string{"", "event.apps", "deployments.v2.apps", "nothing"} {
		if got, err := client.Find(resources, name); err == nil {
			t.Errorf("%q is %+v, want an error", name, got)
		}
	}
}
