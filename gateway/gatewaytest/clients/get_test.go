package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"revtail/gateway/gatewaytest"
)

// gets are command lines that kubectl and revtail print the same for.
var gets = []string{
	"cm", "cm -A", "cm a esc", "cm/a deploy/web cm/esc", "cm,deploy", "cm,deploy -A", "all", "all -A", "nodes,cm", "crd", "ns",
	"deploy -o wide", "po,svc,rs", "ord -A", "ord -o wide", "ord --sort-by=.spec.count", "ord --sort-by={.metadata.name} -o name", "deployments.v1.apps", "Deployment",
	"cm --show-labels", "cm -L app,tier -L none", "cm --no-headers", "cm,deploy --no-headers", "cm --show-kind", "cm -l app=web", "cm --field-selector metadata.name=a",
	"cm a -o json", "cm a -o yaml", "cm a -o kyaml", "cm a -o json --show-managed-fields", "deploy web -o yaml --show-managed-fields",
	"cm a esc -o yaml", "cm/a deploy/web -o json", "cm -o name", "cm,deploy -o name", "cm --chunk-size=1 -o name", "cm --chunk-size=0",
	"cm -o jsonpath={.items[*].metadata.name}", "cm a -o jsonpath={.data}", "cm a -o jsonpath={.nothing}", "cm a -o jsonpath-as-json={.data}",
	`cm -o jsonpath={range.items[*]}{.metadata.name}{"\t"}{.data}{"\n"}{end}`,
	"cm -o go-template={{range$i,$o:=.items}}{{$o.metadata.name}};{{end}}", "cm --template={{.kind}}", "cm -o template --template={{.kind}}",
	"cm -o custom-columns=NAME:.metadata.name,X:.data.x,L:.metadata.labels", "cm -o custom-columns=NAME:metadata.name,X:{.data.x} --no-headers",
	"secrets -o custom-columns=NAME:.metadata.name", "secrets", "cm none", "cm a none", "cm a none -o name", "cm a none -o json", "cm none --ignore-not-found", "cm none --ignore-not-found -o json",
	"nothing", "--raw /api/v1/namespaces/default/configmaps/a", "--raw /version",
}

// definition and objects are the manifests of what is read.
const definition = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: orders.shop.io}
spec:
  group: shop.io
  scope: Namespaced
  names: {plural: orders, singular: order, kind: Order, shortNames: [ord], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Count, type: integer, jsonPath: .spec.count}
    - {name: Detail, type: string, jsonPath: .spec.detail, priority: 1}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {count: {type: integer}, detail: {type: string}}}}}}
`

const objects = `# of all kinds
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: web, tier: front}}, data: {x: "1"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: esc}, data: {x: "<a>&b\u001b[2J", y: "2"}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: z, namespace: other}}
---
{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}
---
{apiVersion: shop.io/v1, kind: Order, metadata: {name: third}, spec: {count: 1}}
---
{apiVersion: shop.io/v1, kind: Order, metadata: {name: first}, spec: {count: 20, detail: long}}
---
{apiVersion: shop.io/v1, kind: Order, metadata: {name: second}, spec: {count: 3}}
`

// getPrograms are kubectl and revtail, with the beginnings of the command lines that get from a gateway.
type getPrograms [2][]string

func newGetPrograms(t *testing.T) getPrograms {
	t.Helper()
	gateway := gatewaytest.Start(t)
	kubectl := []string{gatewaytest.Tool(t, "kubectl"), "--kubeconfig", "/dev/null", "--server", gateway.URL}
	for _, manifests := range []string{definition, objects} {
		runKubectl(t, kubectl, manifests, "apply", "-f", "-")
		runKubectl(t, kubectl, "", "wait", "--for=condition=established", "crd/orders.shop.io")
	}
	return getPrograms{append(kubectl, "get"), {gatewaytest.Binary(t), "get", "--server", gateway.URL}}
}

func runKubectl(t *testing.T, kubectl []string, stdin string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), kubectl[0], append(kubectl[1:len(kubectl):len(kubectl)], args...)...)
	cmd.Env, cmd.Stdin = []string{"HOME=" + t.TempDir()}, strings.NewReader(stdin)
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %q: %v\n%s", args, err, said)
	}
}

// run runs both programs. It returns what they print, and whether they fail.
func (x getPrograms) run(t *testing.T, args string) (printed [2]string, failed [2]bool) {
	t.Helper()
	for i, command := range x {
		cmd := exec.CommandContext(t.Context(), command[0], append(command[1:len(command):len(command)], strings.Fields(args)...)...)
		cmd.Env = []string{"HOME=" + t.TempDir()}
		out, err := cmd.Output()
		printed[i], failed[i] = string(out), err != nil
	}
	return printed, failed
}

// age is a cell of a table that depends on the time of the command, with the blanks after it.
var age = regexp.MustCompile(`\b\d+[ms](\d+s)?\b *`)

// listRevision is that of a List, which revtail prints, and kubectl leaves out.
var listRevision = regexp.MustCompile(`(?m)^ +"?resourceVersion"?: "\d*"$`)

// TestGetPrintsWhatKubectlPrints compares stdout and whether the program fails.
func TestGetPrintsWhatKubectlPrints(t *testing.T) {
	t.Parallel()
	x := newGetPrograms(t)
	for _, args := range gets {
		printed, failed := x.run(t, args)
		if diff := cmp.Diff(age.ReplaceAllString(printed[0], "AGE "), age.ReplaceAllString(printed[1], "AGE ")); diff != "" || failed[0] != failed[1] {
			t.Errorf("get %s: kubectl fails: %t, revtail fails: %t (-kubectl +revtail):\n%s", args, failed[0], failed[1], diff)
		}
	}
}

// TestGetListHasItsRevision checks the one difference: the revision of a list is where a watch continues.
func TestGetListHasItsRevision(t *testing.T) {
	t.Parallel()
	x := newGetPrograms(t)
	for _, args := range []string{"cm -o json", "secrets -o yaml"} {
		printed, _ := x.run(t, args)
		if printed[0] == printed[1] {
			t.Errorf("get %s: no revision:\n%s", args, printed[1])
		}
		for program, text := range printed {
			matches := listRevision.FindAllStringIndex(text, -1)
			last := matches[len(matches)-1]
			printed[program] = text[:last[0]] + "REVISION" + text[last[1]:]
		}
		if diff := cmp.Diff(printed[0], printed[1]); diff != "" {
			t.Errorf("get %s (-kubectl +revtail):\n%s", args, diff)
		}
	}
}

// TestGetWatchPrintsWhatKubectlPrints runs the session of 'kubectl get --watch' with the command of revtail.
func TestGetWatchPrintsWhatKubectlPrints(t *testing.T) {
	t.Parallel()
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in get) exec %q \"$@\" --server \"$SERVER\" ;; esac\nexec %q \"$@\"\n", gatewaytest.Binary(t), gatewaytest.Tool(t, "kubectl"))
	path := filepath.Join(t.TempDir(), "kubectl")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	runSession(t, "testdata/kubectl/watch.txt", path)
}
