//go:build !linux

package main

import (
	"errors"
	"net"
)

// The measurement needs /proc and epoll. On other systems the program builds, and fails with an error.
var errLinuxOnly = errors.New("the benchmark runs on Linux only")

func connectPlain(*fleet, endpoint, []request) error { return errLinuxOnly }

type shards struct{}

func newShards(*eventLog) (*shards, error) { return nil, errLinuxOnly }

func (*shards) wake() {}

func (*shards) add(net.Conn) {}
