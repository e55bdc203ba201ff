// Package upstream sends requests to a kube-apiserver with the identity of their client, and returns its answers as they come.
//
// A token is forwarded as it is. The user of a client certificate is named in the front-proxy headers, over connections with a certificate of
// their own. Discovery documents are kept for the time in which the kube-apiserver does not answer. See DESIGN.md.
package upstream
