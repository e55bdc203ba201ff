package object

import (
	"strings"
	"testing"

	"revtail/gateway/resource"
)

// BenchmarkWithDefaults reads a Deployment that has the fields of its defaults, and one without a field.
func BenchmarkWithDefaults(b *testing.B) {
	const complete = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"web","namespace":"default","uid":"5ad16b2c","generation":1,` +
		`"labels":{"app":"web"}},"spec":{"progressDeadlineSeconds":600,"replicas":3,"revisionHistoryLimit":10,"selector":{"matchLabels":{"app":"web"}},` +
		`"strategy":{"rollingUpdate":{"maxSurge":"25%","maxUnavailable":"25%"},"type":"RollingUpdate"},"template":{"metadata":{"labels":{"app":"web"}},"spec":{` +
		`"containers":[{"image":"nginx:1","imagePullPolicy":"IfNotPresent","name":"web","ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{},` +
		`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File"}],"dnsPolicy":"ClusterFirst","restartPolicy":"Always",` +
		`"schedulerName":"default-scheduler","securityContext":{},"terminationGracePeriodSeconds":30}}},"status":{}}`
	var deployments *resource.Resource
	for _, res := range resource.Builtin() {
		if res.Plural == "deployments" {
			deployments = res
		}
	}
	for name, value := range map[string]string{"complete": complete, "incomplete": strings.Replace(complete, `"replicas":3,`, "", 1)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := WithDefaults(deployments, []byte(value)); !strings.Contains(string(got), `"replicas":`) {
					b.Fatalf("%s", got)
				}
			}
		})
	}
}
