// Package servicecidrs keeps the IPAddress of each cluster IP, the ServiceCIDR of the gateway's range, and the finalizers and conditions of others.
package servicecidrs
