package conformance

import (
	"net/http"
)

var subresources = []statement{
	{"PUT of the status changes the status and nothing else", statusPut},
	{"PUT of the status keeps the generation", statusGeneration},
	{"PATCH of the status changes the status and nothing else", statusPatch},
	{"PUT and PATCH of the object do not change the status", mainIgnoresStatus},
	{"GET of the status is the whole object", statusGet},
	{"a change of the status is an event", statusEvent},
	{"a stale PUT of the status is 409", statusStale},
	{"the status of an absent object is 404", statusAbsent},
	{"a status that does not change keeps the resourceVersion", statusUnchanged},
	{"the scale is an autoscaling/v1 Scale", scaleGet},
	{"PATCH of the scale sets the replicas", scalePatch},
	{"the scale without replicas is 0", scaleUnset},
}

func (w collection) putStatus(body object) answer {
	w.c.t.Helper()
	return w.c.do(http.MethodPut, w.named(body.name(), "/status"), body)
}

func statusPut(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", object{"l": "a"})
	body := made.with(w.status, 7).with(w.color, "blue").with("metadata.labels", object{"l": "b"}).with("metadata.finalizers", []any{"example.com/x"})
	put := w.putStatus(body).ok(http.StatusOK)
	c.equal("status", put.text(w.status), "7")
	c.equal("color and label", put.text(w.color)+" "+put.text("metadata.labels.l"), "red a")
	if w.schema { // of Kubernetes' own kinds, finalizers and annotations come with the status
		c.equal("finalizers", put.at("metadata.finalizers"), nil)
	}
	c.equal("stored", w.read("w-a"), put)
}

func statusGeneration(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	put := w.putStatus(made.with(w.status, 7)).ok(http.StatusOK)
	c.equal("generation", put.text("metadata.generation"), "1")
	if put.rv() <= made.rv() {
		c.Errorf("resourceVersion %s after %s", put.version(), made.version())
	}
}

func statusPatch(c *check) {
	w := c.rich()
	w.create("w-a", "red", nil)
	patched := w.patch("w-a/status", mergePatch, nest(w.status, 7).with(w.color, "blue")).ok(http.StatusOK)
	c.equal("status and color", patched.text(w.status)+" "+patched.text(w.color), "7 red")
}

func mainIgnoresStatus(c *check) {
	w := c.rich()
	made := w.putStatus(w.create("w-a", "red", nil).with(w.status, 7)).ok(http.StatusOK)
	put := w.put(made.with(w.status, 8).with(w.color, "blue"), "").ok(http.StatusOK)
	c.equal("status after PUT", put.text(w.status), "7")
	c.equal("status after a PUT without it", w.put(put.with("status", nil).with(w.color, "green"), "").ok(http.StatusOK).text(w.status), "7")
	c.equal("status after PATCH", w.merge("w-a", nest(w.status, 9)).text(w.status), "7")
}

func statusGet(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	c.equal("object", c.get(w.named("w-a", "/status")).ok(http.StatusOK), made)
}

func statusEvent(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	s := w.watchFrom()
	put := w.putStatus(made.with(w.status, 7)).ok(http.StatusOK)
	c.equal("object", s.expect("MODIFIED w-a")[0].object, put)
}

func statusStale(c *check) {
	w := c.rich()
	made := w.create("w-a", "red", nil)
	w.paint("w-a", "blue")
	w.putStatus(made.with(w.status, 7)).refused(http.StatusConflict, "Conflict")
}

func statusAbsent(c *check) {
	w := c.rich()
	c.get(w.named("nope", "/status")).refused(http.StatusNotFound, "NotFound")
	w.patch("nope/status", mergePatch, nest(w.status, 7)).refused(http.StatusNotFound, "NotFound")
}

func statusUnchanged(c *check) {
	w := c.rich()
	put := w.putStatus(w.create("w-a", "red", nil).with(w.status, 7)).ok(http.StatusOK)
	c.equal("resourceVersion", w.putStatus(put).ok(http.StatusOK).version(), put.version())
}

// scaled returns the collection with a scale, with an object w-a.
func (c *check) scaled() collection {
	c.t.Helper()
	w := c.rich()
	if !w.scale {
		c.NotRun("%s have no scale", w.plural)
	}
	w.post(w.object("w-a", "red", nil).with("spec.replicas", 2), "").ok(http.StatusCreated)
	return w
}

func scaleGet(c *check) {
	w := c.scaled()
	scale := c.get(w.named("w-a", "/scale")).ok(http.StatusOK)
	c.equal("scale", scale.text("apiVersion")+" "+scale.text("kind")+" "+scale.name()+" "+scale.text("spec.replicas"), "autoscaling/v1 Scale w-a 2")
}

func scalePatch(c *check) {
	w := c.scaled()
	w.patch("w-a/scale", mergePatch, nest("spec.replicas", 3)).ok(http.StatusOK)
	c.equal("replicas", w.read("w-a").text("spec.replicas"), "3")
}

func scaleUnset(c *check) {
	w := c.scaled()
	w.create("w-b", "red", nil)
	scale := c.get(w.named("w-b", "/scale")).ok(http.StatusOK)
	if replicas := scale.text("spec.replicas"); replicas != "0" && replicas != "" {
		c.Errorf("replicas %s", replicas)
	}
}
