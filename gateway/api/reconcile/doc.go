// Package reconcile makes objects in etcd what the gateway says that they should be: APIServices, IPAddresses and ServiceCIDRs. It has the loop, and the writes.
package reconcile
