// Package flowcontrol shares what the gateway has a limited number of among its users, as kube-apiserver's priority and fairness does: a user
// is a flow, and what a request takes is a number of seats in a pool.
package flowcontrol
