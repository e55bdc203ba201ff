package keyapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"revtail/cmd/revtail/client"
)

// Txn is the body of a transaction.
type Txn struct {
	Compare []TxnCompare `json:"compare,omitempty"`
	Then    []TxnOp      `json:"then,omitempty"`
	Else    []TxnOp      `json:"else,omitempty"`
}

// TxnCompare is a condition of a transaction.
type TxnCompare struct {
	Name
	Is             string `json:"is,omitempty"`
	ModRevision    *int64 `json:"modRevision,omitempty"`
	CreateRevision *int64 `json:"createRevision,omitempty"`
	Version        *int64 `json:"version,omitempty"`
	Value
}

// TxnOp is an operation of a transaction: one of its fields is set.
type TxnOp struct {
	Get    *Name      `json:"get,omitempty"`
	Put    *TxnPut    `json:"put,omitempty"`
	Delete *TxnDelete `json:"delete,omitempty"`
}

// TxnPut writes a value.
type TxnPut struct {
	Name
	Value
}

// TxnDelete deletes a key or a prefix.
type TxnDelete struct {
	Name
	Prefix bool `json:"prefix,omitempty"`
}

// TxnResult is the answer to a transaction.
type TxnResult struct {
	Revision  int64
	Succeeded bool
	Results   []struct {
		Get     *Item
		Put     *Name
		Deleted *int64
	}
}

// CheckWrite asks the gateway whether the caller may do an operation: the operation is in a transaction whose condition never holds.
func (c *Client) CheckWrite(ctx context.Context, key string, op TxnOp) error {
	never := int64(0)
	body, err := json.Marshal(Txn{Compare: []TxnCompare{{Name: NewName(key), Is: "<", Version: &never}}, Then: []TxnOp{op}})
	if err != nil {
		return err
	}
	var answer TxnResult
	err = c.Call(ctx, NewTxnRequest(body), &answer)
	if err == nil && answer.Succeeded {
		err = errors.New("the gateway says that a version is less than 0")
	}
	return err
}

// NewTxnRequest makes the request for a transaction.
func NewTxnRequest(body []byte) client.Request {
	return client.Request{Method: http.MethodPost, Path: "/v1/txn", Query: url.Values{}, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}
