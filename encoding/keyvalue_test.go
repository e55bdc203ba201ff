package encoding

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

func TestAppendKeyValue(t *testing.T) {
	for _, test := range []struct {
		name string
		kv   KeyValue
		want string
	}{
		{"JSON", KeyValue{Key: "/a", Value: []byte(`{"n":1.50}`), Created: 2, Modified: 3, Version: 2},
			`{"key":"/a","value":{"n":1.50},"encoding":"json","createRevision":2,"modRevision":3,"version":2}`},
		{"JSON over lines", KeyValue{Key: "/a", Value: []byte("{\n \"n\" : [1, 2]\n}\n")},
			`{"key":"/a","value":{"n":[1,2]},"encoding":"json","createRevision":0,"modRevision":0,"version":0}`},
		{"text", KeyValue{Key: "a\"b", Value: []byte("x\ny"), Lease: 255},
			`{"key":"a\"b","value":"x\ny","encoding":"utf8","createRevision":0,"modRevision":0,"version":0,"lease":"ff"}`},
		{"empty", KeyValue{Key: "/a"}, `{"key":"/a","value":"","encoding":"utf8","createRevision":0,"modRevision":0,"version":0}`},
		{"bytes", KeyValue{Key: "\xff", Value: []byte{0xff, 0}},
			`{"key64":"/w==","value":"/wA=","encoding":"base64","createRevision":0,"modRevision":0,"version":0}`},
		{"no value", KeyValue{Key: "/a", NoValue: true}, `{"key":"/a","createRevision":0,"modRevision":0,"version":0}`},
	} {
		if got := string(AppendKeyValue(nil, test.kv)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

func TestAppendKeyEvent(t *testing.T) {
	current, before := AppendKeyValue(nil, KeyValue{Key: "/a", Value: []byte("1")}), []byte(`{"key":"/a"}`)
	for _, test := range []struct {
		event KeyEvent
		want  string
	}{
		{KeyEvent{Type: "PUT", Revision: 7, Current: current, Previous: before},
			`{"type":"PUT","revision":7,"key":"/a","value":1,"encoding":"json","createRevision":0,"modRevision":0,"version":0,"prev":{"key":"/a"}}` + "\n"},
		{KeyEvent{Type: "DELETE", Revision: 8, Last: true, Key: "/a"}, `{"type":"DELETE","revision":8,"last":true,"key":"/a"}` + "\n"},
		{KeyEvent{Type: "SYNC", Revision: 9}, `{"type":"SYNC","revision":9}` + "\n"},
	} {
		line := AppendKeyEvent(nil, test.event)
		if string(line) != test.want {
			t.Errorf("%s, want %s", line, test.want)
		}
		if got, want := string(AppendServerSentEvent(nil, line, 5)), "id: 5\ndata: "+test.want+"\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// FuzzKeyValue checks that any value in etcd becomes one line of JSON, from which the value can be restored.
func FuzzKeyValue(f *testing.F) {
	f.Add("/a", []byte(`{"a":[1]}`))
	f.Add("\xff", []byte("\n\xff"))
	f.Add("a", []byte("[1]]"))
	f.Fuzz(func(t *testing.T, key string, value []byte) {
		line := AppendKeyValue(nil, KeyValue{Key: key, Value: value})
		var got struct {
			Key      string
			Key64    []byte
			Value    json.RawMessage
			Encoding string
		}
		if err := json.Unmarshal(line, &got); err != nil || strings.ContainsAny(string(line), "\r\n") {
			t.Fatalf("%q: %v", line, err)
		}
		if back := got.Key + string(got.Key64); back != key {
			t.Errorf("key %q, want %q", back, key)
		}
		var text string
		if got.Encoding != "json" {
			if err := json.Unmarshal(got.Value, &text); err != nil {
				t.Fatal(err)
			}
		}
		switch got.Encoding {
		case "json":
			if !json.Valid(value) {
				t.Errorf("%q is sent as JSON", value)
			}
		case "base64":
			decoded, err := base64.StdEncoding.DecodeString(text)
			if err != nil || string(decoded) != string(value) {
				t.Errorf("%q, want %q", decoded, value)
			}
		default:
			if text != string(value) {
				t.Errorf("%q, want %q", text, value)
			}
		}
	})
}
