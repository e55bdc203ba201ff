package conformance

import (
	"net/http"
)

var selectors = []statement{
	{"a label selector l=a or l==a selects the objects with that value", byLabels("l=a", "w-a", "w-c")},
	{"a label selector l selects the objects that have the label", byLabels("l", "w-a", "w-b", "w-c", "w-d")},
	{"a label selector !l selects the objects that lack it", byLabels("!l", "w-e")},
	{"a label selector l in (a,b) selects either", byLabels("l in (a,b)", "w-a", "w-b", "w-c", "w-d")},
	{"a label selector l notin (a) selects objects that lack it, too", byLabels("l notin (a)", "w-b", "w-d", "w-e")},
	{"a label selector l!=a selects objects that lack it, too", byLabels("l!=a", "w-b", "w-d", "w-e")},
	{"a comma joins label requirements with and", byLabels("l=a,l!=b", "w-a", "w-c")},
	{"l>1 and l<10 compare integers", numericLabels},
	{"a field selector metadata.name selects one", byFields("metadata.name=w-a", "w-a")},
	{"a field selector metadata.name!= selects the others", byFields("metadata.name!=w-a", "w-b", "w-c", "w-d", "w-e")},
	{"a field selector metadata.namespace selects all of the namespace", fieldNamespace},
	{"a field selector selects the objects with that value", byColor("=red", "w-a", "w-c", "w-e")},
	{"a field selector != selects the others", byColor("!=red", "w-b", "w-d")},
	{"a comma joins field requirements with and", byColor("==red,metadata.name!=w-a", "w-c", "w-e")},
	{"an absent field has the empty value", absentField},
	{"a backslash escapes a comma and an equals sign", escapedField},
	{"a label selector and a field selector join with and", bothSelectors},
	{"a malformed label selector is 400", badLabelSelector},
	{"a malformed field selector is 400", badFieldSelector},
	{"a field that no object of the kind can have is 400", undeclaredField},
	{"malformed selectors are 400 before a watch begins", badSelectorsOnWatch},
	{"malformed selectors are 400 for a delete of a collection, and nothing is deleted", badSelectorsOnDelete},
}

func byLabels(selector string, want ...string) func(*check) {
	return func(c *check) {
		w := c.simple()
		w.five()
		c.equal("names", names(w.list(query("labelSelector", selector))), want)
	}
}

func byFields(selector string, want ...string) func(*check) {
	return func(c *check) {
		w := c.simple()
		w.five()
		c.equal("names", names(w.list(query("fieldSelector", selector))), want)
	}
}

// byColor selects by the fixture's own field.
func byColor(rest string, want ...string) func(*check) {
	return func(c *check) { byFields(c.cast.simple.color+rest, want...)(c) }
}

func numericLabels(c *check) {
	w := c.simple()
	w.create("one", "red", object{"n": "1"})
	w.create("nine", "red", object{"n": "9"})
	w.create("ten", "red", object{"n": "10"})
	w.create("word", "red", object{"n": "many"})
	c.equal("n>1", names(w.list(query("labelSelector", "n>1"))), []string{"nine", "ten"})
	c.equal("n<10", names(w.list(query("labelSelector", "n<10"))), []string{"nine", "one"})
}

func fieldNamespace(c *check) {
	w := c.simple()
	w.five()
	c.equal("here", len(names(w.list(query("fieldSelector", "metadata.namespace="+c.ns)))), 5)
	c.equal("elsewhere", len(names(w.list(query("fieldSelector", "metadata.namespace=elsewhere")))), 0)
	all := c.get(w.collection("") + query("fieldSelector", "metadata.namespace="+c.ns)).ok(http.StatusOK)
	c.equal("of all namespaces", len(names(all)), 5)
}

func absentField(c *check) {
	w := c.simple()
	w.create("painted", "red", nil)
	w.post(w.object("plain", "", nil).with(w.color, nil), "").ok(http.StatusCreated)
	c.equal("names", names(w.list(query("fieldSelector", w.color+"="))), []string{"plain"})
	c.equal("names", names(w.list(query("fieldSelector", w.color+"!="))), []string{"painted"})
}

func escapedField(c *check) {
	w := c.simple()
	w.create("odd", "a,b=c", nil)
	w.create("even", "a", nil)
	c.equal("names", names(w.list(query("fieldSelector", w.color+`=a\,b\=c`))), []string{"odd"})
}

func bothSelectors(c *check) {
	w := c.simple()
	w.five()
	c.equal("names", names(w.list(query("labelSelector", "l=a", "fieldSelector", "metadata.name!=w-a"))), []string{"w-c"})
	c.equal("names", names(w.list(query("labelSelector", "l", "fieldSelector", w.color+"=red"))), []string{"w-a", "w-c"})
}

var (
	badLabelSelectors = []string{"l in", "l in (a", "=a", "l=a=b", "l=$", "-l"}
	badFieldSelectors = []string{"metadata.name in (a)", "metadata.name", "=a"}
)

func badLabelSelector(c *check) {
	for _, bad := range badLabelSelectors {
		c.get(c.simple().path(query("labelSelector", bad))).refused(http.StatusBadRequest, "BadRequest")
	}
}

func badFieldSelector(c *check) {
	for _, bad := range badFieldSelectors {
		c.get(c.simple().path(query("fieldSelector", bad))).refused(http.StatusBadRequest, "BadRequest")
	}
}

func undeclaredField(c *check) {
	w := c.simple()
	for _, watch := range []string{"0", "1"} {
		c.get(w.path(query("watch", watch, "fieldSelector", w.typo+"=x"))).
			refused(http.StatusBadRequest, "BadRequest").saying(w.typo)
	}
}

func badSelectorsOnWatch(c *check) {
	w := c.simple()
	for _, bad := range badLabelSelectors {
		c.get(w.path(query("watch", "1", "labelSelector", bad))).refused(http.StatusBadRequest, "BadRequest")
	}
	for _, bad := range badFieldSelectors {
		c.get(w.path(query("watch", "1", "fieldSelector", bad))).refused(http.StatusBadRequest, "BadRequest")
	}
}

func badSelectorsOnDelete(c *check) {
	w := c.simple()
	w.five()
	c.do(http.MethodDelete, w.path(query("labelSelector", "l in")), nil).refused(http.StatusBadRequest, "BadRequest")
	c.do(http.MethodDelete, w.path(query("fieldSelector", "metadata.name in (a)")), nil).refused(http.StatusBadRequest, "BadRequest")
	c.equal("objects left", len(names(w.list(""))), 5)
}
