package conformance

import (
	"net/http"
)

var owners = []statement{
	{"a namespace is deleted with all objects in it", namespaceGoes},
	{"nothing is created in a terminating namespace", namespaceGoing},
	{"dependents of an object are deleted after it", dependentsGo},
	{"a dependent of another object, too, stays", dependentsStay},
	{"Orphan lets the dependents stay, without the reference", dependentsOrphaned},
	{"Foreground deletes the owner and its dependents", dependentsInForeground},
	{"an owner that never existed is like a deleted one", ownerNeverWas},
}

// owned creates an object with owners.
func (w collection) owned(name string, owners ...object) {
	w.c.t.Helper()
	var references []any
	for _, owner := range owners {
		references = append(references, object{"apiVersion": owner.text("apiVersion"), "kind": owner.text("kind"), "name": owner.name(),
			"uid": owner.text("metadata.uid"), "blockOwnerDeletion": true})
	}
	w.post(w.object(name, "red", nil).with("metadata.ownerReferences", references), "").ok(http.StatusCreated)
}

// goes waits until an object is gone.
func (w collection) goes(name string) {
	w.c.t.Helper()
	w.c.eventually(w.plural+" "+name+" is gone", func() bool { return w.c.get(w.named(name, "")).code == http.StatusNotFound })
}

func namespaceGoes(c *check) {
	w, other := c.simple(), c.rich()
	w.five()
	other.create("other", "red", nil)
	code := c.do(http.MethodDelete, "/api/v1/namespaces/"+c.ns, nil).code
	if code != http.StatusOK && code != http.StatusAccepted {
		c.Fatalf("code %d", code)
	}
	c.eventually("the namespace is empty", func() bool { return len(names(w.list("")))+len(names(other.list(""))) == 0 })
	c.eventually("the namespace is gone", func() bool { return c.get("/api/v1/namespaces/"+c.ns).code == http.StatusNotFound })
}

func namespaceGoing(c *check) {
	w := c.simple()
	w.finalized("w-a")
	c.do(http.MethodDelete, "/api/v1/namespaces/"+c.ns, nil)
	if c.get("/api/v1/namespaces/"+c.ns).code == http.StatusNotFound {
		c.Fatalf("the namespace is gone, but w-a has a finalizer")
	}
	w.post(w.object("w-b", "red", nil), "").refused(http.StatusForbidden, "Forbidden")
}

func dependentsGo(c *check) {
	w, other := c.simple(), c.strict()
	owner := w.create("owner", "red", nil)
	other.owned("child", owner)
	w.owned("brother", owner)
	w.create("stranger", "red", nil)
	w.remove("owner", "?propagationPolicy=Background", nil).ok(http.StatusOK)
	w.absent("owner")
	other.goes("child")
	w.goes("brother")
	w.read("stranger")
}

func dependentsStay(c *check) {
	w := c.simple()
	one, two := w.create("one", "red", nil), w.create("two", "red", nil)
	w.owned("shared", one, two)
	w.owned("alone", one)
	w.remove("one", "", nil).ok(http.StatusOK)
	w.goes("alone")
	w.read("shared")
	w.remove("two", "", nil).ok(http.StatusOK)
	w.goes("shared")
}

func dependentsOrphaned(c *check) {
	w := c.simple()
	owner := w.create("owner", "red", nil)
	w.owned("child", owner)
	w.remove("owner", "?propagationPolicy=Orphan", nil).ok(http.StatusOK)
	w.goes("owner")
	c.equal("owners of the child", len(w.read("child").list("metadata.ownerReferences")), 0)
}

func dependentsInForeground(c *check) {
	w := c.simple()
	owner := w.create("owner", "red", nil)
	w.owned("child", owner)
	w.remove("owner", "?propagationPolicy=Foreground", nil).ok(http.StatusOK)
	w.goes("owner")
	w.goes("child")
}

func ownerNeverWas(c *check) {
	w := c.simple()
	never := w.object("never", "red", nil).with("metadata.uid", "00000000-0000-4000-8000-000000000000")
	w.owned("child", never)
	w.goes("child")
}
