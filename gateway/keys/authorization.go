package keys

import (
	"errors"
	"net/http"
	"slices"

	"revtail/etcdstore"
	"revtail/gateway/access"
	"revtail/gateway/access/authorization"
	"revtail/gateway/claim"
	"revtail/gateway/keys/keyrange"
)

// authorizedKeys is the only way of a request to etcd: the handlers hold no store, and get what can read, watch or write keys when
// the request may do that. Its errors are for responder.fail.
type authorizedKeys struct {
	access *access.Control
	policy *keyrange.Policy
	claim  *claim.Claim
	store  etcdstore.Store
	caches *rangeCaches
}

// authorizedTxn is a transaction of which the request may use every key. Only authorizedKeys.txn and authorizedKeys.write make one.
type authorizedTxn struct {
	store etcdstore.Store
	keyrange.Txn
}

// read returns a store that holds the keys of a range only.
func (a *authorizedKeys) read(r *http.Request, keys keyrange.Range) (rangeStore, error) {
	verb := "get"
	if keys.IsPrefix() {
		verb = "list"
	}
	return rangeStore{a.store, keys}, a.check(r, verb, keys)
}

// watch returns the cache of ranges. The caller releases it.
func (a *authorizedKeys) watch(r *http.Request, ranges keyrange.Ranges) (*rangeCache, error) {
	for _, keys := range ranges {
		if err := a.check(r, "watch", keys); err != nil {
			return nil, err
		}
	}
	return a.caches.acquire(ranges, access.AccountOf(r))
}

// opVerbs are the verbs of operations.
var opVerbs = map[etcdstore.Verb]string{etcdstore.Get: "get", etcdstore.Put: "update", etcdstore.Delete: "delete"}

// write authorizes a put or a delete, which reads the key if conditions do not hold.
func (a *authorizedKeys) write(r *http.Request, verb etcdstore.Verb, keys keyrange.Range) (authorizedTxn, error) {
	txn := etcdstore.Txn{
		Then: []etcdstore.Op{{Verb: verb, Key: keys.String(), Prefix: keys.IsPrefix()}},
		Else: []etcdstore.Op{{Verb: etcdstore.Get, Key: keys.String()}},
	}
	return authorizedTxn{a.store, keyrange.Txn{Txn: txn}}, a.check(r, opVerbs[verb], keys)
}

// txn authorizes a transaction: every key of it, whatever its conditions turn out to be.
func (a *authorizedKeys) txn(r *http.Request, txn keyrange.Txn) (authorizedTxn, error) {
	var errs []error
	check := func(verb, key string) {
		keys, err := keyrange.ParseKey(key)
		if err == nil {
			err = a.check(r, verb, keys)
		}
		errs = append(errs, err)
	}
	for _, c := range txn.If {
		check("get", c.Key)
	}
	for _, op := range slices.Concat(txn.Then, txn.Else) {
		check(opVerbs[op.Verb], op.Key)
	}
	return authorizedTxn{a.store, txn}, errors.Join(errs...)
}

// check asks the rules, the claim and the flags whether a request may use a range. The verb is get, list, watch, update or delete.
func (a *authorizedKeys) check(r *http.Request, verb string, keys keyrange.Range) error {
	access.RequestLogOf(r).AddKeys(verb, keys)
	if c := access.CallerOf(r); c != nil {
		if err := a.access.Authorize(c.Identity, authorization.Attributes{Verb: verb, Key: keys.String()}); err != nil {
			return err
		}
	}
	return a.open(verb, keys)
}

// open asks the claim and the flags, which hold for every user.
func (a *authorizedKeys) open(verb string, keys keyrange.Range) error {
	if verb != "update" && verb != "delete" {
		return a.policy.Read(keys)
	}
	if err := a.claim.CheckMethod(http.MethodPut); err != nil {
		return err
	}
	return a.policy.Write(keys)
}

// Open returns an error if every user is refused a verb on a key or a prefix, because of the flags or because of the owner of the data. The
// verb is get, list, watch, update or delete.
func (h *Handler) Open(verb, key string) error {
	keys, err := keyrange.ParseKey(key)
	if err != nil {
		return err
	}
	return h.keys.open(verb, keys)
}
