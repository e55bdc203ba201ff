package conformance

import (
	"net/http"
	"slices"
	"strings"
)

var lists = []statement{
	{"a list has the kind and apiVersion of its resource", listKind},
	{"an empty collection has items [] and never null", emptyCollection},
	{"a namespace that does not exist is listed as empty", nowhereList},
	{"items come in the order of their keys", itemOrder},
	{"items have their own kind and apiVersion", itemKinds},
	{"items have all the metadata the server sets", itemMetadata},
	{"the list's resourceVersion is not older than any item's", listRevision},
	{"a list of all namespaces is ordered by namespace, then name", allNamespaces},
	{"a list has every write acknowledged before it", consistentList},
	{"two lists without a write between them are the same", stableList},
	{"a write to another resource leaves the items' resourceVersions alone", otherWrites},
	{"an object is read as it was written", readBack},
	{"an absent object is 404 NotFound with its name, group and resource", absentObject},
	{"a read has every write acknowledged before it", consistentRead},
	{"an item's resourceVersion is that of its last write", itemRevision},
}

func listKind(c *check) {
	for _, w := range c.each() {
		list := w.list("")
		c.equal("kind and apiVersion", list.text("kind")+" "+list.text("apiVersion"), w.kind+"List "+w.apiVersion())
	}
}

func emptyCollection(c *check) {
	for _, selection := range []string{"", "?limit=2", "?resourceVersion=0", "?labelSelector=nothing%3Dhas-this"} {
		a := c.get(c.simple().path(selection))
		if a.ok(http.StatusOK); !strings.Contains(strings.ReplaceAll(a.body, " ", ""), `"items":[]`) {
			c.Errorf("%s: %s", selection, a.body)
		}
	}
}

func nowhereList(c *check) {
	w := collection{c, c.cast.simple, c.ns + "-nowhere"}
	a := c.get(w.path(""))
	if a.ok(http.StatusOK); !strings.Contains(strings.ReplaceAll(a.body, " ", ""), `"items":[]`) {
		c.Errorf("%s", a.body)
	}
}

func itemOrder(c *check) {
	w := c.simple()
	for _, name := range []string{"b", "a.b", "a", "a-b", "10", "9", "a0"} {
		w.create(name, "red", nil)
	}
	c.equal("names", names(w.list("")), []string{"10", "9", "a", "a-b", "a.b", "a0", "b"})
}

func itemKinds(c *check) {
	w := c.simple()
	w.five()
	for _, item := range w.list("").list("items") {
		c.equal(item.name(), item.text("kind")+" "+item.text("apiVersion"), w.kind+" "+w.apiVersion())
	}
}

func itemMetadata(c *check) {
	w := c.rich()
	w.five()
	list := w.list("")
	c.equal("names", names(list), []string{"w-a", "w-b", "w-c", "w-d", "w-e"})
	for _, item := range list.list("items") {
		for _, member := range []string{"uid", "resourceVersion", "creationTimestamp", "generation"} {
			if item.text("metadata."+member) == "" {
				c.Errorf("%s has no metadata.%s", item.name(), member)
			}
		}
		c.equal("namespace", item.text("metadata.namespace"), c.ns)
	}
}

func listRevision(c *check) {
	w := c.simple()
	w.five()
	list := w.list("")
	for _, item := range list.list("items") {
		if item.rv() == 0 || item.rv() > list.rv() {
			c.Errorf("%s has %s in a list of %s", item.name(), item.version(), list.version())
		}
	}
}

func allNamespaces(c *check) {
	one, two := c.simple(), c.simple()
	one.ns, two.ns = c.ns+"-1", c.ns+"-2"
	c.openNamespace(one.ns)
	c.openNamespace(two.ns)
	two.create("a", "red", nil)
	one.create("b", "red", nil)
	one.create("a", "red", nil)
	var got []string
	for _, item := range c.get(one.collection("")).ok(http.StatusOK).list("items") {
		if namespace := item.text("metadata.namespace"); namespace == one.ns || namespace == two.ns {
			got = append(got, strings.TrimPrefix(namespace, c.ns)+"/"+item.name())
		}
	}
	c.equal("objects", got, []string{"-1/a", "-1/b", "-2/a"})
}

func consistentList(c *check) {
	w := c.simple()
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		made := w.create(name, "red", nil)
		list := w.list("")
		if !slices.Contains(names(list), name) || list.rv() < made.rv() {
			c.Errorf("%s of %s is not in a list of %s: %v", name, made.version(), list.version(), names(list))
		}
	}
	w.remove("a", "", nil).ok(http.StatusOK)
	if slices.Contains(names(w.list("")), "a") {
		c.Errorf("a deleted object is in the list")
	}
}

func stableList(c *check) {
	w := c.simple()
	w.five()
	c.equal("items", w.list("").at("items"), w.list("").at("items"))
}

func otherWrites(c *check) {
	w := c.simple()
	w.five()
	before := w.list("")
	other := collection{c, leases, c.ns}
	other.create("other", "red", nil)
	after := w.list("")
	c.equal("items", after.at("items"), before.at("items"))
	if after.rv() < before.rv() {
		c.Errorf("the list went back from %s to %s", before.version(), after.version())
	}
}

func readBack(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", object{"l": "a"})
	c.equal("object", w.read("w-a"), made)
	c.equal("color", made.text(w.color), "red")
}

func absentObject(c *check) {
	for _, w := range c.each() {
		c.get(w.named("nope", "")).refused(http.StatusNotFound, "NotFound").about("nope", w.group, w.plural)
	}
}

func consistentRead(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, color := range []string{"blue", "green", "red", "pink"} {
		c.equal("color", w.paint("w-a", color).version(), w.read("w-a").version())
	}
	w.remove("w-a", "", nil).ok(http.StatusOK)
	w.absent("w-a")
}

func itemRevision(c *check) {
	w := c.simple()
	w.five()
	painted := w.paint("w-c", "pink")
	for _, item := range w.list("").list("items") {
		if item.name() == "w-c" {
			c.equal("resourceVersion", item.version(), painted.version())
		}
	}
}
