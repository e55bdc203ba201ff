package doctor

import (
	"context"
	"fmt"
)

func (d *doctor) checkAlarms(ctx context.Context) {
	alarms, err := d.store.Alarms(ctx)
	if err != nil {
		d.report(skipped, "alarms", "cannot be asked for: "+err.Error(), "")
		return
	}
	for _, alarm := range alarms {
		hint := "keep this member from serving, and restore it from the others: see etcd's guide to data corruption"
		if alarm.Type == "NOSPACE" {
			hint = "nothing can be written: compact, `etcdctl defrag`, then `etcdctl alarm disarm`"
		}
		d.report(failed, "alarms", fmt.Sprintf("member %s has raised %s", alarm.Member, alarm.Type), hint)
	}
	if len(alarms) == 0 {
		d.report(ok, "alarms", "none", "")
	}
}
