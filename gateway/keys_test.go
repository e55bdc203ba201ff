package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"revtail/etcdstore"
	"revtail/etcdstore/memory"
	"revtail/gateway/http/response"
)

func (s *testServer) wantKeys(path string, code int, body string, header ...string) answer {
	s.t.Helper()
	a := s.get(path, header...)
	if got := strings.TrimSpace(a.body); a.code != code || body != "" && got != body {
		s.t.Errorf("GET %s: %d %s\nwant %d %s", path, a.code, got, code, body)
	}
	return a
}

func TestKeysRead(t *testing.T) {
	store := memory.New()
	first := store.Txn(map[string][]byte{"/app/config/a": []byte(`{"n":1}`), "/app/config/b": []byte("text"), "/app/config": {0xff}}, nil)
	last := store.Txn(map[string][]byte{"/app/config/c/d": []byte("1"), "/app/config/c/e": []byte("2"), "flat": []byte("3"), "/apple": []byte("no")}, nil)
	s := serveStore(t, store)
	item := func(member, value string) string {
		return fmt.Sprintf(`{%s,"value":%s,"createRevision":%d,"modRevision":%d,"version":1}`, member, value, first, first)
	}
	all := item(`"key":"/app/config/a"`, `{"n":1},"encoding":"json"`) + "," + item(`"key":"/app/config/b"`, `"text","encoding":"utf8"`)
	answer := func(items string) string { return fmt.Sprintf(`{"revision":%d,"items":[%s]}`, last, items) }

	one := s.wantKeys("/v1/keys/app/config", 200, answer(item(`"key":"/app/config"`, `"/w==","encoding":"base64"`)))
	if want := fmt.Sprintf(`"%d"`, first); one.header.Get("ETag") != want || one.header.Get(response.RevisionHeader) != fmt.Sprint(last) {
		t.Errorf("ETag %s, want %s; %v", one.header.Get("ETag"), want, one.header)
	}
	for _, same := range []string{"/v1/keys?key=/app/config", "/v1/keys/?key64=L2FwcC9jb25maWc"} {
		s.wantKeys(same, 200, strings.TrimSpace(one.body))
	}
	tree := s.wantKeys("/v1/keys/app/config/?at="+fmt.Sprint(first), 200, strings.Replace(answer(all), fmt.Sprint(last), fmt.Sprint(first), 1))
	s.wantKeys("/v1/keys/app/config/", 304, "", "If-None-Match", s.get("/v1/keys/app/config/").header.Get("ETag"))
	s.wantKeys("/v1/keys/app/config/", 200, "", "If-None-Match", tree.header.Get("ETag"))
	s.wantKeys("/v1/keys/app/config/?depth=1", 200, answer(strings.Join([]string{
		strings.Replace(item(`"key":"/app/config/a"`, ""), `"value":,`, "", 1), strings.Replace(item(`"key":"/app/config/b"`, ""), `"value":,`, "", 1),
		`{"key":"/app/config/c/"}`}, ",")))
	s.wantKeys("/v1/keys/app/config/?count", 200, fmt.Sprintf(`{"revision":%d,"count":4}`, last))
	s.wantKeys("/v1/keys/app/nothing/", 200, answer(""))
	s.wantKeys("/v1/keys?key=flat", 200, "")
	if a := s.do(http.MethodHead, "/v1/keys/app/", ""); a.code != 200 || a.header.Get(response.RevisionHeader) != fmt.Sprint(last) || a.body != "" {
		t.Errorf("HEAD: %d %v %q", a.code, a.header, a.body)
	}
}

// TestKeysBase64 checks that encoding=base64 shows each byte of a value: JSON is compacted without it.
func TestKeysBase64(t *testing.T) {
	s := newTestServer(t)
	values := map[string]string{"/app/json": "{ \"a\": 1 }\n", "/app/text": "text\n", "/app/bytes": "\x00\xff", "/app/none": ""}
	puts := map[string][]byte{}
	for key, value := range values {
		puts[key] = []byte(value)
	}
	s.store.Txn(puts, nil)
	var got struct {
		Items []struct {
			Key, Encoding string
			Value         []byte // decodes base64
		}
	}
	if err := json.Unmarshal([]byte(s.get("/v1/keys/app/?encoding=base64").body), &got); err != nil || len(got.Items) != len(values) {
		t.Fatal(err, got)
	}
	for _, item := range got.Items {
		if item.Encoding != "base64" || string(item.Value) != values[item.Key] {
			t.Errorf("%s: %q as %s, want %q", item.Key, item.Value, item.Encoding, values[item.Key])
		}
	}
}

// TestKeysPages checks that pages together are the list at the revision of the first page, whatever is written meanwhile, at every depth.
func TestKeysPages(t *testing.T) {
	s := newTestServer(t)
	puts := map[string][]byte{}
	for i := range 1200 {
		puts[fmt.Sprintf("/app/%d/%04d", i%3, i)] = []byte("x")
	}
	s.store.Txn(puts, nil)
	for query, want := range map[string]int{"limit=7": 1200, "limit=700&keysOnly": 1200, "": 1200, "limit=2&depth=1": 3, "depth=1": 3} {
		got, path, first := map[string]bool{}, "/v1/keys/app/?"+query, any(nil)
		for token := ""; ; {
			a := s.get(path + token)
			if a.code != 200 {
				t.Fatalf("%s: %d %s", path+token, a.code, a.body)
			}
			answer := a.json(t)
			if first == nil {
				first = answer["revision"]
				s.store.Txn(map[string][]byte{"/app/1/new" + query: []byte("x")}, nil)
			}
			if answer["revision"] != first {
				t.Errorf("%s: revision %v, want that of the first page, %v", query, answer["revision"], first)
			}
			for _, item := range answer["items"].([]any) {
				key := item.(map[string]any)["key"].(string)
				if got[key] || strings.HasSuffix(key, "new"+query) && query != "" {
					t.Errorf("%s: %s is listed twice, or too new", query, key)
				}
				got[key] = true
			}
			next, more := answer["continue"].(string)
			if !more {
				break
			}
			token = "&continue=" + next
		}
		for key := range got {
			if strings.Contains(key, "new") {
				delete(got, key)
			}
		}
		if len(got) != want {
			t.Errorf("%s: %d keys, want %d", query, len(got), want)
		}
	}
}

func TestKeysRefused(t *testing.T) {
	s := newTestServer(t)
	s.store.Txn(map[string][]byte{"/app/a": []byte("1"), "/application": []byte("1"), "/registry/pods/default/web": []byte("{}"), "revtail/x": nil}, nil)
	for _, test := range []struct {
		method, path string
		code         int
		says         string
	}{
		{"GET", "/v1/keys/application", 403, `--keys /application, or with a prefix of it that ends with /"}`},
		{"GET", "/v1/keys", 403, "--keys /"},
		{"GET", "/v1/keys/", 403, `"open":["/app/","/read/"]}`},
		{"GET", "/v1/keys/app", 403, "--keys /app"},
		{"GET", "/v1/keys/registry/pods/", 403, "--keys"},
		{"GET", "/v1/keys?key=revtail/x", 403, "gateway's own"},
		{"GET", "/v1/keys/app/%2e%2e/application", 400, "relative"},
		{"GET", "/v1/keys/app/..%2fapplication", 400, "key64"},
		{"GET", "/v1/keys/app//a", 400, "empty"},
		{"GET", "/v1/keys/app/%00", 400, "key64"},
		{"GET", "/v1/keys/app/?key=/application", 400, "query another key"},
		{"GET", "/v1/keys?key=", 400, "empty"},
		{"GET", "/v1/keys?key=/app/a&key=/application", 400, "one key"},
		{"GET", "/v1/keys/app/a?limt=3", 400, "limt"},
		{"GET", "/v1/keys/app/?limit=x", 400, "limit"},
		{"GET", "/v1/keys/app/?at=-10x", 400, "unknown unit"},
		{"GET", "/v1/keys/app/?at=2026-13-01T00:00:00Z", 400, "month out of range"},
		{"GET", "/v1/keys/app/?at=2026-11-21X10:00:00Z", 400, "character 11"},
		{"GET", "/v1/keys/app/?at=yesterday", 400, `"at=\"yesterday\": want a revision such as 4711, a time such as 2026-11-21T10:00:00Z, or one ago such as -10m"`},
		{"GET", "/v1/keys/app/?at=12x", 400, `"at=\"12x\": want a whole number greater than 0, and \"x\" is at character 3"`},
		{"GET", "/v1/keys/app/?keysonly", 400, "did you mean keysOnly?"},
		{"GET", "/v1/keys/app/?at=10m", 400, "begins with a minus: -10m"},
		{"GET", "/v1/keys/app/?at=0001-01-01T00:00:00Z", 410, "0001-01-01"},
		{"GET", "/v1/keys/app/?ttl=3s", 400, "which is for PUT"},
		{"DELETE", "/v1/keys/app/a?keysOnly", 400, "which is for a read"},
		{"GET", "/v1/keys/app/?pretty=maybe", 400, "true or false"},
		{"GET", "/v1/keys/app/?depth=1&count", 400, "leave one of them out"},
		{"GET", "/v1/keys/app/?since=5", 400, "add watch"},
		{"GET", "/v1/keys/app/?watch&at=5", 400, "for a read"},
		{"GET", "/v1/keys/app/?count=maybe", 400, "true or false"},
		{"GET", "/v1/keys/app/?watch&slow=oldest", 400, "want latest"},
		{"GET", "/v1/keys/app/?wait=30&since=1", 400, "missing unit"},
		{"GET", "/v1/keys?key64=L2F*cA", 400, `\"*\" is at character 4`},
		{"PUT", "/v1/keys/app/a?tll=3s", 400, "did you mean ttl?"},
		{"GET", "/v1/keys/app/?continue=AAAA", 400, "continue"},
		{"GET", "/v1/keys/app/none", 404, "/v1/keys"},
		{"GET", "/v1/keys/app/?at=9999", 504, "not reached"},
		{"GET", "/v1/keys/app/?minRevision=9999", 504, "not reached"},
		{"PUT", "/v1/keys/read/a", 403, "--keys-writable /read/a"},
		{"PUT", "/v1/keys/registry/pods/default/web", 403, "resources"},
		{"PUT", "/v1/keys/app/", 400, "prefix"},
		{"PUT", "/v1/keys/app/a?watch", 400, "watch"},
		{"DELETE", "/v1/keys/app/", 400, "prefix=true"},
		{"DELETE", "/v1/keys/?prefix=true", 403, "holds"},
		{"DELETE", "/v1/keys/app/none", 404, ""},
		{"POST", "/v1/keys/app/a?limit=1", 405, "GET, HEAD, PUT"},
		{"PUT", "/v1/keys/app/none?if-match", 400, "it takes ttl, pretty"},
		{"GET", "/v1", 404, "/v1/keys"},
		{"PUT", "/v1/txn", 405, "POST"},
		{"GET", "/v1/tickets", 405, "POST"},
		{"GET", "/v1/key/app/a", 404, "/v1/keys"},
		{"GET", "/v1/keys/app/a?a=%zz", 400, "malformed"},
	} {
		a := s.do(test.method, test.path, "")
		if a.code != test.code || !strings.Contains(a.body, test.says) && test.says != "/v1/keys" {
			t.Errorf("%s %s: %d %s, want %d with %q", test.method, test.path, a.code, a.body, test.code, test.says)
		}
		if kind := a.header.Get("Content-Type"); kind != "application/problem+json" {
			t.Errorf("%s %s: Content-Type %q", test.method, test.path, kind)
		}
	}
}

func TestKeysCompacted(t *testing.T) {
	s := newTestServer(t)
	old := s.store.Txn(map[string][]byte{"/app/a": []byte("1")}, nil)
	now := s.store.Txn(map[string][]byte{"/app/a": []byte("2")}, nil)
	if err := s.store.Compact(now); err != nil {
		t.Fatal(err)
	}
	if a := s.get(fmt.Sprintf("/v1/keys/app/a?at=%d", old)); a.code != 410 || !strings.Contains(a.body, "compacted") {
		t.Errorf("%d %s, want 410", a.code, a.body)
	}
}

func TestKeysWrite(t *testing.T) {
	s := newTestServer(t)
	put := func(want int, body string, header ...string) answer {
		t.Helper()
		a := s.do(http.MethodPut, "/v1/keys/app/a", body, header...)
		if a.code != want {
			t.Fatalf("PUT %v: %d %s, want %d", header, a.code, a.body, want)
		}
		return a
	}
	if a := put(412, "x", "If-Match", "*"); !strings.Contains(a.body, "there is no such key") {
		t.Errorf("If-Match without a key: %s", a.body)
	}
	if a := s.do(http.MethodPut, "/v1/keys/app/a?ttl=1h", "x", "If-Match", `"7"`); a.code != 412 || s.store.Leases() != 0 {
		t.Errorf("a refused write: %d, and %d leases are left", a.code, s.store.Leases())
	}
	made := put(200, "1", "If-None-Match", "*").header.Get("ETag")
	put(412, "x", "If-None-Match", "*")
	changed := put(200, "\x00 2", "If-Match", made).header.Get("ETag")
	put(412, "x", "If-Match", made)
	put(400, "x", "If-Match", "W/abc")
	if kv, _, err := s.store.Get(t.Context(), "/app/a"); err != nil || string(kv.Value) != "\x00 2" {
		t.Errorf("etcd has %q, %v", kv.Value, err)
	}
	if a := s.do(http.MethodDelete, "/v1/keys/app/a", "", "If-Match", made); a.code != 412 {
		t.Errorf("DELETE of an older revision: %d", a.code)
	}
	if a := s.do(http.MethodDelete, "/v1/keys/app/a", "", "If-Match", changed); a.code != 200 || a.json(t)["deleted"] != 1.0 {
		t.Errorf("DELETE: %d %s", a.code, a.body)
	}

	leased := s.do(http.MethodPut, "/v1/keys/app/b?ttl=30s", "1").json(t)
	if leased["lease"] != "2" || leased["ttl"] != "30s" || s.get("/v1/keys/app/b").json(t)["items"].([]any)[0].(map[string]any)["lease"] != "2" {
		t.Errorf("the answer to a PUT with a ttl is %v", leased)
	}
	s.store.Expire(2)
	s.wantKeys("/v1/keys/app/b", 404, "")

	s.store.Txn(map[string][]byte{"/app/p/a": nil, "/app/p/b": nil, "/app/p": nil}, nil)
	if a := s.do(http.MethodDelete, "/v1/keys/app/p/?prefix=true", ""); a.code != 200 || a.json(t)["deleted"] != 2.0 {
		t.Errorf("DELETE of a prefix: %d %s", a.code, a.body)
	}
	s.wantKeys("/v1/keys/app/p", 200, "")
}

func TestKeysTxn(t *testing.T) {
	s := newTestServer(t)
	before := s.store.Txn(map[string][]byte{"/app/a": []byte("1"), "/app/old": []byte("1")}, nil)
	body := fmt.Sprintf(`{"compare":[{"key":"/app/a","modRevision":%d},{"key":"/app/b","exists":false}],
		"then":[{"put":{"key":"/app/b","value":{"n":1}}},{"put":{"key":"/app/c","value":"AP8=","encoding":"base64","ttl":"30s"}},{"delete":{"key":"/app/old"}},{"get":{"key":"/app/a"}}],
		"else":[{"get":{"key":"/app/b"}},{"get":{"key":"/app/none"}}]}`, before)
	first := s.do(http.MethodPost, "/v1/txn", body, "Content-Type", response.JSON)
	want := fmt.Sprintf(`{"revision":%d,"succeeded":true,"results":[{"put":{"revision":%d,"key":"/app/b"}},{"put":{"revision":%d,"key":"/app/c","lease":"1","ttl":"30s"}},{"deleted":1},`+
		`{"get":{"key":"/app/a","value":1,"encoding":"json","createRevision":%d,"modRevision":%d,"version":1}}]}`, before+1, before+1, before+1, before, before)
	if got := strings.TrimSpace(first.body); first.code != 200 || got != want {
		t.Errorf("%d %s\nwant %s", first.code, got, want)
	}
	again := s.do(http.MethodPost, "/v1/txn", body, "Content-Type", response.JSON)
	if got := strings.TrimSpace(again.body); !strings.HasPrefix(got, fmt.Sprintf(`{"revision":%d,"succeeded":false,"results":[{"get":{"key":"/app/b","value":{"n":1}`, before+1)) || !strings.HasSuffix(got, `{"get":null}]}`) {
		t.Errorf("again: %s", got)
	}
	if leases := s.store.Leases(); leases != 1 {
		t.Errorf("there are %d leases, and one key has one", leases)
	}
	if kv, _, err := s.store.Get(t.Context(), "/app/c"); err != nil || string(kv.Value) != "\x00\xff" || kv.Lease != 1 {
		t.Errorf("c is %+v, %v", kv, err)
	}
	if a := s.do(http.MethodPost, "/v1/txn", body, "Content-Type", "text/plain"); a.code != 415 {
		t.Errorf("a body that any web page can send: %d", a.code)
	}
	if a := s.do(http.MethodPost, "/v1/txn", `{"compare":[{"key":"/app/a","exist":true}]}`, "Content-Type", response.JSON); !strings.Contains(a.body, "did you mean exists?") || !strings.Contains(a.body, "at byte ") {
		t.Errorf("an unknown member: %s", a.body)
	}
	for body, says := range map[string]string{
		`{"then":[{"put":{"key":"/app/a","value":1,"ttl":"5x"}}]}`:  `then[0]: ttl: \"5x\": want a time greater than 0, such as 30s or 5m: unknown unit`,
		`{"then":[{"put":{"key":"/app/a","value":1,"ttl":"-5s"}}]}`: `-5s is not`,
		`{"then":[}`:  "at byte 10",
		`[]`:          "the body is of the wrong type, array, at byte 1",
		`{"then":{}}`: "then is of the wrong type, object",
	} {
		if a := s.do(http.MethodPost, "/v1/txn", body, "Content-Type", response.JSON); a.code != 400 || !strings.Contains(a.body, says) {
			t.Errorf("%s: %d %s, want %q", body, a.code, a.body, says)
		}
	}
	if a := s.do(http.MethodPost, "/v1/txn?fields=a", `{}`, "Content-Type", response.JSON); a.code != 400 || !strings.Contains(a.body, "fields") {
		t.Errorf("an unknown parameter: %d %s", a.code, a.body)
	}
	s.do(http.MethodPost, "/v1/txn", `{"then":[{"put":{"key":"/app/null","value":null}}]}`, "Content-Type", response.JSON)
	if kv, _, err := s.store.Get(t.Context(), "/app/null"); err != nil || string(kv.Value) != "null" {
		t.Errorf("null is %q, %v", kv.Value, err)
	}
	for body, want := range map[string]int{
		`{"then":[{"put":{"key":"/read/a","value":1}}]}`:                                   403,
		`{"compare":[{"key":"/secret","exists":true}]}`:                                    403,
		`{"else":[{"get":{"key":"/secret"}}]}`:                                             403,
		`{"then":[{"delete":{"key":"/","prefix":true}}]}`:                                  403,
		`{"then":[{"delete":{"key":"/app/"}}]}`:                                            400,
		`{"then":[{"put":{"key":"/app/a"}}]}`:                                              400,
		`{"then":[{"put":{"key":"/app/a","value":1}},{"put":{"key":"/app/a","value":1}}]}`: 400,
		`{"when":[]}`:                          400,
		`{"compare":[{"key":"/app/a"}]}`:       400,
		`{"compare":[{"key":"","version":1}]}`: 400,
		`[`:                                    400,
	} {
		if a := s.do(http.MethodPost, "/v1/txn", body, "Content-Type", response.JSON); a.code != want {
			t.Errorf("%s: %d %s, want %d", body, a.code, a.body, want)
		}
	}
}

// TestKeysOfLargeValues checks that the gateway reads no more from etcd at a time than it answers with.
func TestKeysOfLargeValues(t *testing.T) {
	const many, size = 40, 1 << 20
	const maxAnswer, firstPage = 32 << 20, 16
	puts := map[string][]byte{}
	for i := range many {
		puts[fmt.Sprintf("/app/%02d", i)] = []byte(strings.Repeat("x", size))
	}
	store := memory.New()
	store.Txn(puts, nil)
	weighed := &weighedStore{Store: store}
	s := serveThrough(t, store, weighed)
	if a := s.get("/v1/keys/app/?limit=1"); a.code != 200 || len(a.json(t)["items"].([]any)) != 1 {
		t.Errorf("limit=1: %d", a.code)
	}
	if items := s.get("/v1/keys/app/").json(t)["items"].([]any); len(items) != maxAnswer/size+1 {
		t.Errorf("%d items, want as many as fit", len(items))
	}
	if most := firstPage * (size + 10); weighed.heaviest > most {
		t.Errorf("a page of %d bytes was asked for, want %d at most", weighed.heaviest, most)
	}
}

// weighedStore records the size of the largest page that was requested.
type weighedStore struct {
	*memory.Store
	heaviest int
}

func (s *weighedStore) List(ctx context.Context, prefix string, o etcdstore.ListOptions) (etcdstore.Page, error) {
	page, err := s.Store.List(ctx, prefix, o)
	if strings.HasPrefix(prefix, "/app/") {
		size := 0
		for _, kv := range page.KVs {
			size += len(kv.Key) + len(kv.Value)
		}
		s.heaviest = max(s.heaviest, size)
	}
	return page, err
}
