// Package informer lets the informers and listers of client-go read the watch caches of the gateway, without a request.
package informer
