// Package doctor has the command doctor, which checks an etcd and its gateways, and says what to do about each failure.
package doctor
