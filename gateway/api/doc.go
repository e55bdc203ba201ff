// Package api has the handlers of the resource API, /api and /apis: it parses requests, calls storage or watch, and writes responses.
//
// The packages below it have everything about objects: catalog knows what is served at this moment, storage reads and writes objects,
// object, managedfields and schema work on one object, customresource and mount define resources, discovery and openapi describe them,
// garbage deletes them. The keys API is package keys, and streams are package watch.
package api
