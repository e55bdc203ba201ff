package gatewaytest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestKeysOfTenants checks that a rule about keys limits its user, in any form of a key, and that the flags limit the rules.
func TestKeysOfTenants(t *testing.T) {
	t.Parallel()
	g := startGuarded(t, false, []string{"reader", "writer", "unprivileged"},
		role("read", `{verbs: [get, list, watch], keys: [/app/a/, bare/]}`)+"---\n"+role("write", `{verbs: ["*"], keys: [/app/a/, /closed/]}`)+"---\n"+
			bind("reader", "read")+"---\n"+bind("writer", "write"), "--keys-writable", "/app/,bare/")
	etcd := gatewaytest.DialEtcd(t, g.EtcdEndpoint)
	etcd.Put(t, "/app/a/x", "1", "/app/ab/x", "canary", "/app/b/x", "canary", "/app/a", "canary", "/closed/x", "canary", "bare/x", "1", "bare", "canary")
	for _, test := range []struct {
		user, method, path, body string
		code                     int
	}{
		{"reader", "GET", "/v1/keys/app/a/x", "", 200},
		{"reader", "GET", "/v1/keys?key=/app/a/x", "", 200},
		{"reader", "GET", "/v1/keys/app/a/", "", 200},
		{"reader", "GET", "/v1/keys/app/a/?wait=1ms&since=1", "", 200},
		{"reader", "GET", "/v1/keys/app/a", "", 403},
		{"reader", "GET", "/v1/keys/app/ab/x", "", 403},
		{"reader", "GET", "/v1/keys/app/", "", 403},
		{"reader", "GET", "/v1/keys/app/?watch", "", 403},
		{"reader", "GET", "/v1/keys/app/b/none", "", 403},
		{"reader", "GET", "/v1/keys?key=/app/b/x", "", 403},
		{"reader", "GET", "/v1/keys?key64=L2FwcC9iL3g", "", 403},
		{"reader", "GET", "/v1/keys/app/a/?key=/app/b/x", "", 403},
		{"reader", "GET", "/v1/keys?wait=1ms&since=1&key=/app/a/&key=/app/a/x", "", 200},
		{"reader", "GET", "/v1/keys?wait=1ms&since=1&key=/app/a/x&key=/app/a/y", "", 200},
		{"reader", "GET", "/v1/keys?wait=1ms&since=1&key=/app/a/&key=/app/b/", "", 403},
		{"reader", "GET", "/v1/keys?watch&key=/app/a/x&key64=L2FwcC9iL3g", "", 403},
		{"reader", "GET", "/v1/keys?key=bare/x", "", 200},
		{"reader", "GET", "/v1/keys?key=bare", "", 403},
		{"reader", "GET", "/v1/keys/app/a/?at=2", "", 200},
		{"reader", "GET", "/v1/openapi.json", "", 200},
		{"reader", "PUT", "/v1/keys/app/a/x", "2", 403},
		{"reader", "DELETE", "/v1/keys/app/a/x", "", 403},
		{"reader", "POST", "/v1/txn", `{"then":[{"get":{"key":"/app/a/x"}}]}`, 200},
		{"reader", "POST", "/v1/txn", `{"then":[{"put":{"key":"/app/a/x","value":2}}]}`, 403},
		{"reader", "POST", "/v1/txn", `{"compare":[{"key":"/app/b/x","value":1}]}`, 403},
		{"reader", "POST", "/v1/txn", `{"else":[{"get":{"key":"/app/b/x"}}]}`, 403},
		{"writer", "PUT", "/v1/keys/app/a/x", "2", 200},
		{"writer", "PUT", "/v1/keys/app/b/x", "2", 403},
		{"writer", "PUT", "/v1/keys/closed/x", "2", 403},
		{"writer", "GET", "/v1/keys/closed/x", "", 403},
		{"writer", "DELETE", "/v1/keys/app/?prefix=true", "", 403},
		{"writer", "POST", "/v1/txn", `{"then":[{"delete":{"key":"/app/","prefix":true}}]}`, 403},
		{"writer", "DELETE", "/v1/keys/app/a/?prefix=true", "", 200},
		{"unprivileged", "GET", "/v1/keys/app/a/x", "", 403},
		{"unprivileged", "POST", "/v1/txn", `{"then":[{"get":{"key":"/app/a/x"}}]}`, 403},
		{"stranger", "GET", "/v1/keys/app/a/x", "", 401},
	} {
		answer := g.user(test.user).Do(t, test.method, test.path, test.body)
		if answer.Code != test.code || strings.Contains(answer.Body, "canary") {
			t.Errorf("%s: %s %s %s: %d %s, want %d", test.user, test.method, test.path, test.body, answer.Code, answer.Body, test.code)
		}
		if kind := answer.Header.Get("Content-Type"); answer.Code >= 400 && kind != "application/problem+json" {
			t.Errorf("%s: %s %s: an error in %s", test.user, test.method, test.path, kind)
		}
		if cached := answer.Header.Get("Cache-Control"); !strings.Contains(cached, "private") {
			t.Errorf("%s: %s %s: Cache-Control %q", test.user, test.method, test.path, cached)
		}
	}
	for _, key := range []string{"/app/ab/x", "/app/b/x", "/app/a", "/closed/x"} {
		if value, _ := etcd.Get(t, key); value != "canary" {
			t.Errorf("%s is %q now", key, value)
		}
	}
	ticket := g.user("reader").Do(t, http.MethodPost, "/v1/tickets", `{"path":"/v1/keys/app/a/"}`)
	if ticket.Code != http.StatusCreated {
		t.Fatalf("ticket: %d %s", ticket.Code, ticket.Body)
	}
	var given struct{ Ticket string }
	if err := json.Unmarshal([]byte(ticket.Body), &given); err != nil {
		t.Fatal(err)
	}
	stream := watchKeys(t, g.Gateway, "/v1/keys/app/a/?watch&ticket="+given.Ticket)
	if frame := stream.next(); frame.Type != "SYNC" {
		t.Errorf("with a ticket: %+v", frame)
	}
}
