package etcdstore

import (
	"bytes"
	"cmp"
)

// Condition is a condition of a transaction.
type Condition struct {
	Key    string
	Of     Attribute
	Is     Relation
	Number int64  // the operand, except for OfValue
	Value  []byte // the operand for OfValue
}

// Holds reports whether the state of the key fulfils the condition, as etcd decides; nil: the key does not exist.
func (c Condition) Holds(state *KV) bool {
	if c.Of == OfValue && state == nil {
		return false
	}
	order := 0
	if c.Of == OfValue {
		order = bytes.Compare(state.Value, c.Value)
	} else {
		order = cmp.Compare(state.number(c.Of), c.Number)
	}
	switch c.Is {
	case Greater:
		return order > 0
	case Less:
		return order < 0
	case NotEqual:
		return order != 0
	}
	return order == 0
}

// number returns an attribute of a state; zero if the key does not exist.
func (kv *KV) number(of Attribute) int64 {
	switch {
	case kv == nil:
	case of == OfModified:
		return int64(kv.Modified)
	case of == OfCreated:
		return int64(kv.Created)
	case of == OfVersion:
		return kv.Version
	case of == OfLease:
		return kv.Lease
	}
	return 0
}
