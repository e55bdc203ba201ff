package conformance

import (
	"net/http"
	"net/url"
	"strings"
)

var paths = []statement{
	{"a collection answers with a slash at its end, too", trailingSlash},
	{"a path with two slashes is 404", doubleSlash},
	{"an unknown group, version or resource is 404", unknownPaths},
	{"an unknown subresource is 404", unknownSubresource},
	{"HEAD answers like GET, without a body", headHasNoBody},
	{"watch on one object is ignored", watchOnObject},
	{"an unknown query parameter is ignored", unknownParameter},
	{"of a repeated query parameter the first counts", repeatedParameter},
	{"an integer parameter that is not a number is 400", badIntegers},
	{"a timeout that is not a duration is 400", badTimeout},
	{"creating in the collection of all namespaces is 404", postToAllNamespaces},
	{"PUT and PATCH on a collection are 400 or 405", putOnCollection},
	{"OPTIONS is 405", optionsMethod},
	{"an answer forbids caching", notCacheable},
	{"every answer has an Audit-Id", auditID},
	{"Content-Length is the length of the body", contentLength},
	{"wrong credentials are 401 if authentication is on", wrongCredentials},
}

func trailingSlash(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.equal("names", names(c.get(w.path("/")).ok(http.StatusOK)), []string{"w-a"})
}

func doubleSlash(c *check) {
	for _, path := range []string{"//apis", "/" + c.simple().path("")} {
		c.equal(path, c.get(path).code, http.StatusNotFound)
	}
}

func unknownPaths(c *check) {
	root := c.rich().root()
	for _, path := range []string{"/nope", "/apis/nope.example", "/apis/nope.example/v1", "/apis/" + c.rich().group + "/v9", root + "/nopes",
		root + "/namespaces/" + c.ns + "/nopes", root + "/namespaces/" + c.ns + "/nopes/x"} {
		c.equal(path, c.get(path).code, http.StatusNotFound)
	}
}

func unknownSubresource(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.equal("GET", c.get(w.named("w-a", "/nope")).code, http.StatusNotFound)
	c.equal("PUT", c.do(http.MethodPut, w.named("w-a", "/nope"), w.read("w-a")).code, http.StatusNotFound)
}

func headHasNoBody(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, path := range []string{w.named("w-a", ""), w.path("")} {
		a := c.do(http.MethodHead, path, nil)
		c.equal("code", a.code, http.StatusOK)
		c.equal("Content-Type", a.header.Get("Content-Type"), "application/json")
		c.equal("body", a.body, "")
	}
	c.equal("code for an absent one", c.do(http.MethodHead, w.named("nope", ""), nil).code, http.StatusNotFound)
}

func watchOnObject(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.equal("kind", c.get(w.named("w-a", "?watch=1")).ok(http.StatusOK).text("kind"), w.kind)
}

func unknownParameter(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.equal("names", names(w.list("?nope=1&alsoNope")), []string{"w-a"})
}

func repeatedParameter(c *check) {
	w := c.simple()
	w.five()
	c.equal("names", names(w.list("?labelSelector=l%3Da&labelSelector=l%3Db")), []string{"w-a", "w-c"})
	c.equal("names", names(w.list("?limit=1&limit=2")), []string{"w-a"})
}

func badIntegers(c *check) {
	for _, parameter := range []string{"limit", "timeoutSeconds"} {
		for _, value := range []string{"abc", "", "1.5"} {
			c.get(c.simple().path("?"+parameter+"="+value)).refused(http.StatusBadRequest, "BadRequest")
		}
	}
}

func badTimeout(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	c.get(w.path("?timeout=abc")).refused(http.StatusBadRequest, "BadRequest")
	c.get(w.named("w-a", "?timeout=abc")).refused(http.StatusBadRequest, "BadRequest")
	w.post(w.object("w-b", "red", nil), "?timeout=abc").refused(http.StatusBadRequest, "BadRequest")
	c.do(http.MethodDelete, w.named("w-a", "?timeout=abc"), nil).refused(http.StatusBadRequest, "BadRequest")
	c.equal("object", w.read("w-a"), made)
}

func postToAllNamespaces(c *check) {
	w := c.simple()
	c.equal("code", c.do(http.MethodPost, w.collection(""), w.object("w-a", "red", nil)).code, http.StatusNotFound)
}

func putOnCollection(c *check) {
	w := c.simple()
	for _, method := range []string{http.MethodPut, http.MethodPatch} {
		code := c.do(method, w.path(""), w.object("w-a", "red", nil), "Content-Type", mergePatch).code
		if code != http.StatusBadRequest && code != http.StatusMethodNotAllowed {
			c.Errorf("%s: %d", method, code)
		}
	}
}

func optionsMethod(c *check) {
	c.equal("code", c.do(http.MethodOptions, c.simple().path(""), nil).code, http.StatusMethodNotAllowed)
}

func notCacheable(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, path := range []string{w.path(""), w.named("w-a", ""), w.named("nope", "")} {
		c.equal("Cache-Control of "+path, c.get(path).header.Get("Cache-Control"), "no-cache, private")
	}
}

func auditID(c *check) {
	first, second := c.get(c.simple().path("")), c.get(c.simple().named("nope", ""))
	a, b := first.header.Get("Audit-Id"), second.header.Get("Audit-Id")
	if a == "" || b == "" || a == b {
		c.Errorf("Audit-Id %q, then %q", a, b)
	}
}

func contentLength(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, path := range []string{w.named("w-a", ""), w.path(""), w.named("nope", "")} {
		response := c.send(http.MethodGet, path, nil)
		body, err := readAll(response)
		if err != nil || response.ContentLength >= 0 && response.ContentLength != int64(len(body)) {
			c.Errorf("%s: Content-Length %d, body of %d: %v", path, response.ContentLength, len(body), err)
		}
	}
}

func wrongCredentials(c *check) {
	target, err := url.Parse(c.server.base)
	if err != nil {
		c.Fatalf("%v", err)
	}
	a := c.get(c.simple().path(""), "Authorization", "Bearer "+strings.Repeat("x", 20))
	if a.code == http.StatusOK {
		c.NotRun("authentication is off at %s", target.Host)
	}
	a.refused(http.StatusUnauthorized, "Unauthorized")
}
