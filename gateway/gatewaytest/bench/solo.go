package main

import (
	"context"
	"time"

	"revtail/gateway/gatewaytest/program"
)

// solo is a contender whose processes run only while it is measured.
type solo struct {
	processes []*program.Process
	run       func(ctx context.Context) (sample, error)
}

// awake is the time in which a process does what became due while it was frozen.
const awake = 300 * time.Millisecond

// addSolo freezes the processes of a contender and adds it: they run only during its rounds.
func (o *opening) addSolo(name string, one solo) error {
	o.own(func() { _ = one.thaw() }) // because a frozen process cannot end
	o.add(contender{name: name, run: func(ctx context.Context) (sample, error) {
		if err := one.thaw(); err != nil {
			return nil, err
		}
		if err := program.Pause(ctx, awake); err != nil {
			return nil, err
		}
		got, err := one.run(ctx)
		if err != nil {
			return nil, err
		}
		return got, one.freeze()
	}})
	return one.freeze()
}

// freeze stops the processes; their connections stay open.
func (c solo) freeze() error { return c.each((*program.Process).Freeze) }

// thaw lets them continue.
func (c solo) thaw() error { return c.each((*program.Process).Thaw) }

func (c solo) each(do func(*program.Process) error) error {
	for _, p := range c.processes {
		if err := do(p); err != nil {
			return err
		}
	}
	return nil
}
