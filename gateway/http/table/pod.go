package table

import (
	"fmt"
	"slices"
	"time"
)

var podColumns = Columns{
	nameColumn,
	{name: "Ready", kind: "string", description: "How many of its containers are ready, and how many there are.",
		cell: func(o jsonValue, _ time.Time) any { p := podOf(o); return fmt.Sprintf("%d/%d", p.ready, p.containers) }},
	{name: "Status", kind: "string", description: "What the pod is doing, or what keeps it from doing it.",
		cell: func(o jsonValue, _ time.Time) any { return podOf(o).status }},
	{name: "Restarts", kind: "string", description: "How often its containers were restarted, and how long ago the last time.",
		cell: func(o jsonValue, now time.Time) any { return podOf(o).restarts.show(now) }},
	ageColumn,
	wide(stringColumn("IP", "Its address.", podIP)),
	wide(textColumn("Node", "Where it runs.", none, "spec", "nodeName")),
	wide(textColumn("Nominated Node", "Where it will run once others have made room.", none, "status", "nominatedNodeName")),
	wide(stringColumn("Readiness Gates", "How many of its further conditions for being ready are met, and how many there are.", readinessGates)),
}

// podState is the summary of a pod's containers.
type podState struct {
	containers, ready int
	status            string
	restarts          restarts
}

// restarts sums up the restarts of several containers.
type restarts struct {
	count int64
	last  time.Time
}

func (r *restarts) add(container jsonValue) {
	r.count += container.at("restartCount").count(0)
	if t := container.at("lastState", "terminated", "finishedAt").time(); t.After(r.last) {
		r.last = t
	}
}

func (r restarts) show(now time.Time) string {
	if r.count == 0 || r.last.IsZero() {
		return fmt.Sprint(r.count)
	}
	return fmt.Sprintf("%d (%s ago)", r.count, ageOf(r.last, now))
}

func podOf(o jsonValue) podState {
	phase := o.at("status", "phase").textOr("Pending")
	p := podState{containers: len(o.at("spec", "containers").list()), status: o.at("status", "reason").textOr(phase)}
	if o.at("status", "conditions").having("type", "PodScheduled").at("reason").text() == "SchedulingGated" {
		p.status = "SchedulingGated"
	}
	sidecars, initializing := p.init(o)
	if !initializing || o.condition("Initialized") == "True" {
		p.restarts = sidecars
		p.run(o)
	}
	switch {
	case !o.at("metadata", "deletionTimestamp").exists():
	case o.at("status", "reason").text() == "NodeLost":
		p.status = "Unknown"
	case phase != "Failed" && phase != "Succeeded":
		p.status = "Terminating"
	}
	return p
}

// init reads the init containers. Sidecars, which are init containers that keep running, count as containers of the pod. The first init
// container that has not completed determines the status.
func (p *podState) init(o jsonValue) (sidecars restarts, initializing bool) {
	specs := o.at("spec", "initContainers")
	isSidecar := func(c jsonValue) bool { return c.at("restartPolicy").text() == "Always" }
	for _, c := range specs.list() {
		if isSidecar(c) {
			p.containers++
		}
	}
	for i, c := range o.at("status", "initContainerStatuses").list() {
		sidecar := isSidecar(specs.having("name", c.at("name").text()))
		p.restarts.add(c)
		if sidecar {
			sidecars.add(c)
		}
		ended, waiting := c.at("state", "terminated"), c.at("state", "waiting", "reason").text()
		switch {
		case ended.exists() && ended.at("exitCode").count(0) == 0:
			continue
		case sidecar && c.at("started").isTrue():
			if c.at("ready").isTrue() {
				p.ready++
			}
			continue
		case ended.exists():
			p.status = "Init:" + endReason(ended)
		case waiting != "" && waiting != "PodInitializing":
			p.status = "Init:" + waiting
		default:
			p.status = fmt.Sprintf("Init:%d/%d", i, len(specs.list()))
		}
		return sidecars, true
	}
	return sidecars, false
}

// run reads the containers. The first one that does not run determines the status.
func (p *podState) run(o jsonValue) {
	running := false
	for _, c := range slices.Backward(o.at("status", "containerStatuses").list()) {
		p.restarts.add(c)
		ended, waiting := c.at("state", "terminated"), c.at("state", "waiting", "reason").text()
		switch {
		case waiting != "":
			p.status = waiting
		case ended.exists():
			p.status = endReason(ended)
		case c.at("ready").isTrue() && c.at("state", "running").exists():
			running = true
			p.ready++
		}
	}
	if p.status == "Completed" && running { // only some of them have completed
		p.status = "NotReady"
		if o.condition("Ready") == "True" {
			p.status = "Running"
		}
	}
}

// endReason returns why a container terminated.
func endReason(ended jsonValue) string {
	if reason := ended.at("reason").text(); reason != "" {
		return reason
	}
	if signal := ended.at("signal").count(0); signal != 0 {
		return fmt.Sprintf("Signal:%d", signal)
	}
	return fmt.Sprintf("ExitCode:%d", ended.at("exitCode").count(0))
}

func podIP(o jsonValue) string {
	if all := o.at("status", "podIPs").each(func(ip jsonValue) string { return ip.at("ip").text() }); len(all) > 0 {
		return all[0]
	}
	return o.at("status", "podIP").textOr(none)
}

func readinessGates(o jsonValue) string {
	gates := o.at("spec", "readinessGates").list()
	if len(gates) == 0 {
		return none
	}
	met := 0
	for _, gate := range gates {
		if o.condition(gate.at("conditionType").text()) == "True" {
			met++
		}
	}
	return fmt.Sprintf("%d/%d", met, len(gates))
}
