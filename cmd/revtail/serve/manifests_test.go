package serve

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"

	"revtail/gateway/access/authorization"
	"revtail/gateway/config/buildinfo"
	"revtail/gateway/gatewaytest"
)

// manifests returns the objects of the kustomization in deploy/kubernetes. It fails for unknown fields.
func manifests(t *testing.T) []any {
	t.Helper()
	var out []any
	for _, file := range []string{"../../../deploy/kubernetes/revtail.yaml", "../../../deploy/kubernetes/policy.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		documents := yaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
		for buffer := make([]byte, 1<<16); ; {
			n, err := documents.Read(buffer)
			if errors.Is(err, io.EOF) {
				break
			}
			var kind metav1.TypeMeta
			if err = errors.Join(err, sigsyaml.Unmarshal(buffer[:n], &kind)); err != nil {
				t.Fatal(err)
			}
			object, known := map[string]any{
				"Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{}, "ConfigMap": &corev1.ConfigMap{},
				"PodDisruptionBudget": &policyv1.PodDisruptionBudget{}, "ServiceAccount": &corev1.ServiceAccount{},
			}[kind.Kind]
			if !known {
				t.Fatalf("%s: kind %q", file, kind.Kind)
			}
			if err := sigsyaml.UnmarshalStrict(buffer[:n], object); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			out = append(out, object)
		}
	}
	return out
}

// TestManifests checks the arguments of the gateways, the example of a policy and the configurations in deploy/kubernetes.
func TestManifests(t *testing.T) {
	for _, object := range manifests(t) {
		switch o := object.(type) {
		case *appsv1.Deployment:
			serve := NewCommand(buildinfo.Info{})
			args := o.Spec.Template.Spec.Containers[0].Args
			if err := serve.ParseFlags(args[1:]); args[0] != "serve" || err != nil {
				t.Errorf("arguments %s: %v", strings.Join(args, " "), err)
			}
		case *corev1.ConfigMap:
			if _, err := authorization.Parse([]byte(o.Data["policy.yaml"])); err != nil {
				t.Errorf("the example of a policy: %v", err)
			}
		}
	}
}

// TestConfigurationsOfManifests checks that revtail accepts the configurations in deploy/kubernetes.
func TestConfigurationsOfManifests(t *testing.T) {
	for _, file := range []string{"config.yaml", "components/own-etcd/config.yaml"} {
		serve := NewCommand(buildinfo.Info{})
		serve.SetOut(io.Discard)
		serve.SetArgs([]string{"--print-config", "--config", "../../../deploy/kubernetes/" + file})
		if err := serve.ExecuteContext(t.Context()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// TestReplicaManifest checks that revtail accepts the arguments in replica.yaml, and that the files which they name are mounted.
func TestReplicaManifest(t *testing.T) {
	text, err := os.ReadFile("../../../deploy/kubernetes/replica.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var pod corev1.Pod
	if err := sigsyaml.UnmarshalStrict(text, &pod); err != nil {
		t.Fatal(err)
	}
	container := pod.Spec.Containers[0]
	serve := NewCommand(buildinfo.Info{})
	serve.SetOut(io.Discard)
	serve.SetArgs(append(container.Args[1:], "--print-config"))
	if err := serve.ExecuteContext(t.Context()); err != nil {
		t.Error(err)
	}
	for _, arg := range container.Args[1:] {
		_, path, _ := strings.Cut(arg, "=")
		mounted := !strings.HasPrefix(path, "/") || slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
			return path == m.MountPath || strings.HasPrefix(path, m.MountPath+"/")
		})
		if !mounted {
			t.Errorf("%s: the file is not mounted", arg)
		}
	}
}

// TestServeInTheDocuments checks that the flags of each `revtail serve` of the documents exist. The tests of documents run the commands
// that need only this machine.
func TestServeInTheDocuments(t *testing.T) {
	files, err := filepath.Glob("../../../deploy/*.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := 0
	for _, file := range append(files, "../../../README.md") {
		for _, block := range gatewaytest.ReadDocument(t, file) {
			for _, step := range block.Steps() {
				_, flags, found := strings.Cut(strings.ReplaceAll(step.Command, "\\\n", " "), "revtail serve")
				if !found {
					continue
				}
				commands++
				if err := NewCommand(buildinfo.Info{}).ParseFlags(strings.Fields(flags)); err != nil {
					t.Errorf("%s: %s: %v", file, step.Command, err)
				}
			}
		}
	}
	if commands < 7 {
		t.Errorf("the documents have %d commands", commands)
	}
}
