package keyrange

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"revtail/etcdstore"
	"revtail/gateway/config/suggest"
)

// Txn is a transaction that a client asks for.
type Txn struct {
	etcdstore.Txn
	// TTLs are the leases to make first. The key is where the ID of the lease belongs.
	TTLs map[*int64]time.Duration
}

// maxOps limits the steps of each part of a transaction: it is etcd's default limit.
const maxOps = 128

type txnJSON struct {
	Compare []compareJSON `json:"compare"`
	Then    []opJSON      `json:"then"`
	Else    []opJSON      `json:"else"`
}

type keyJSON struct {
	Key   string `json:"key"`
	Key64 string `json:"key64"`
}

func (k keyJSON) parse() (Range, error) {
	switch {
	case k.Key != "" && k.Key64 != "":
		return Range{}, errors.New("key and key64 are both given: use one of them")
	case k.Key64 != "":
		return ParseKey64(k.Key64)
	}
	return ParseKey(k.Key)
}

type valueJSON struct {
	Value    json.RawMessage `json:"value"`
	Encoding string          `json:"encoding"`
}

// parse returns the bytes of a value. Without encoding these are the text of a string, or the JSON of any other value.
func (v valueJSON) parse() ([]byte, error) {
	var text string
	isText := bytes.HasPrefix(v.Value, []byte(`"`)) && json.Unmarshal(v.Value, &text) == nil
	switch {
	case len(v.Value) == 0:
		return nil, errors.New("a value is missing")
	case v.Encoding == "json", v.Encoding == "" && !isText:
		return v.Value, nil
	case !isText:
		return nil, fmt.Errorf("a value of encoding %q is a string", v.Encoding)
	case v.Encoding == "", v.Encoding == "utf8":
		return []byte(text), nil
	case v.Encoding == "base64":
		return base64.StdEncoding.DecodeString(text)
	}
	return nil, fmt.Errorf("encoding %.64q: want json, utf8 or base64", v.Encoding)
}

type compareJSON struct {
	keyJSON
	Is             string `json:"is"`
	ModRevision    *int64 `json:"modRevision"`
	CreateRevision *int64 `json:"createRevision"`
	Version        *int64 `json:"version"`
	Exists         *bool  `json:"exists"`
	valueJSON
}

var relations = map[string]etcdstore.Relation{
	"": etcdstore.Equal, "=": etcdstore.Equal, "!=": etcdstore.NotEqual, "<": etcdstore.Less, ">": etcdstore.Greater,
}

func (c compareJSON) parse() (out etcdstore.Condition, err error) {
	keys, err := c.keyJSON.parse()
	if err != nil {
		return out, err
	}
	out.Key = keys.String()
	var ok bool
	if out.Is, ok = relations[c.Is]; !ok {
		return out, fmt.Errorf("is: %.64q: want =, !=, < or >", c.Is)
	}
	given := 0
	for of, number := range map[etcdstore.Attribute]*int64{
		etcdstore.OfModified: c.ModRevision, etcdstore.OfCreated: c.CreateRevision, etcdstore.OfVersion: c.Version,
	} {
		if number != nil {
			out.Of, out.Number, given = of, *number, given+1
		}
	}
	if c.Exists != nil {
		given++
		out.Of, out.Is = etcdstore.OfVersion, etcdstore.Equal
		if *c.Exists {
			out.Is = etcdstore.Greater
		}
	}
	if c.Value != nil {
		given++
		out.Of = etcdstore.OfValue
		out.Value, err = c.valueJSON.parse()
	}
	if err == nil && (given != 1 || c.Exists != nil && c.Is != "") {
		err = errors.New("want one of modRevision, createRevision, version, value, each with is or without, or exists")
	}
	return out, err
}

type opJSON struct {
	Get *keyJSON `json:"get"`
	Put *struct {
		keyJSON
		valueJSON
		TTL string `json:"ttl"`
	} `json:"put"`
	Delete *struct {
		keyJSON
		Prefix bool `json:"prefix"`
	} `json:"delete"`
}

func (o opJSON) parse() (op etcdstore.Op, ttl time.Duration, err error) {
	var keys Range
	switch {
	case o.Get != nil && o.Put == nil && o.Delete == nil:
		op.Verb = etcdstore.Get
		keys, err = o.Get.parse()
	case o.Put != nil && o.Get == nil && o.Delete == nil:
		op.Verb = etcdstore.Put
		if keys, err = o.Put.keyJSON.parse(); err == nil {
			op.Value, err = o.Put.valueJSON.parse()
		}
		if o.Put.TTL != "" && err == nil {
			if ttl, err = parseDuration(o.Put.TTL); err != nil {
				err = fmt.Errorf("ttl: %.64q: want a time greater than 0, such as 30s or 5m: %w", o.Put.TTL, err)
			}
		}
	case o.Delete != nil && o.Get == nil && o.Put == nil:
		op.Verb, op.Prefix = etcdstore.Delete, o.Delete.Prefix
		keys, err = o.Delete.parse()
	default:
		err = errors.New("want one of get, put and delete")
	}
	op.Key = keys.text
	if err == nil && keys.IsPrefix() != op.Prefix {
		err = fmt.Errorf("key %q: a key does not end with /, and a prefix does and has \"prefix\": true, which only delete takes", op.Key)
	}
	return op, ttl, err
}

// ParseTxn parses the body of a transaction. It refuses unknown and repeated members; the case of their names counts.
func ParseTxn(body []byte) (Txn, error) {
	const want = `want a body as {"compare":[…],"then":[…],"else":[…]}`
	if err := checkMembers(body); err != nil {
		return Txn{}, fmt.Errorf("%s: %w", want, err)
	}
	var in txnJSON
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return Txn{}, fmt.Errorf("%s: %s", want, explain(err, decoder.InputOffset()))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Txn{}, errors.New("the body is more than one JSON object")
	}
	out := Txn{TTLs: make(map[*int64]time.Duration)}
	if max(len(in.Compare), len(in.Then), len(in.Else)) > maxOps {
		return Txn{}, fmt.Errorf("a part of the transaction has more than %d steps", maxOps)
	}
	for i, c := range in.Compare {
		condition, err := c.parse()
		if err != nil {
			return Txn{}, fmt.Errorf("compare[%d]: %w", i, err)
		}
		out.If = append(out.If, condition)
	}
	var err error
	if out.Then, err = out.ops("then", in.Then); err != nil {
		return Txn{}, err
	}
	out.Else, err = out.ops("else", in.Else)
	return out, err
}

// explain describes an error of the JSON decoder: where it is and, for an unknown member, a similar name.
func explain(err error, at int64) string {
	text := strings.TrimPrefix(err.Error(), "json: ")
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		text, at = fmt.Sprintf("%s is of the wrong type, %s", cmp.Or(typed.Field, "the body"), typed.Value), typed.Offset
	} else if broken, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = broken.Offset
	} else if quoted, ok := strings.CutPrefix(text, "unknown field "); ok {
		text += suggest.DidYouMean(strings.Trim(quoted, `"`), members)
	}
	return fmt.Sprintf("%s, at byte %d", text, at)
}

func (t *Txn) ops(part string, in []opJSON) ([]etcdstore.Op, error) {
	out := make([]etcdstore.Op, len(in))
	for i, o := range in {
		op, ttl, err := o.parse()
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", part, i, err)
		}
		if out[i] = op; ttl > 0 {
			t.TTLs[&out[i].Lease] = ttl
		}
	}
	return out, nil
}
