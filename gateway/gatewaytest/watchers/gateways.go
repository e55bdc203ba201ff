package main

import (
	"time"

	"revtail/gateway/gatewaytest/program"
)

// gateways are the replicas. Their figures are those of a replica, on average.
type gateways []*program.Process

// Resident returns the resident memory of a replica, in bytes.
func (g gateways) Resident() (int64, error) {
	var sum int64
	for _, one := range g {
		n, err := one.Resident()
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum / int64(len(g)), nil
}

// CPU returns the processor time of a replica since its start.
func (g gateways) CPU() (time.Duration, error) {
	var sum time.Duration
	for _, one := range g {
		d, err := one.CPU()
		if err != nil {
			return 0, err
		}
		sum += d
	}
	return sum / time.Duration(len(g)), nil
}

func (g gateways) stop() {
	for _, one := range g {
		one.Stop()
	}
}
