package clients

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"revtail/gateway/gatewaytest"
)

// pod runs the only container of a pod as a process: with the arguments and the environment of the pod, in a root directory that has the
// program and the volumes of the pod, and is read-only except for the volume with data. It has an address on loopback of its own, with which
// 0.0.0.0 and the address of --admin-listen are replaced, because all pods share a network.
type pod struct {
	name, address string
	spec          corev1.PodSpec
	root, log     string
	cmd           *exec.Cmd
	ended         chan struct{} // closed when the process has ended
}

// makeImage makes a folder with the files of an image: programs and their libraries.
func makeImage(t *testing.T, programs ...string) string {
	t.Helper()
	folder := t.TempDir()
	add := func(from, to string) {
		t.Helper()
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(folder, to)), 0o755) //nolint:gosec // as in an image
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, to), content, 0o755) //nolint:gosec // a program
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range programs {
		add(program, "/usr/local/bin/"+filepath.Base(program))
		libraries, _ := exec.CommandContext(t.Context(), "ldd", program).Output() // fails for a static program, as in the image
		for _, library := range regexp.MustCompile(`/\S+`).FindAllString(string(libraries), -1) {
			add(library, library)
		}
	}
	return folder
}

// newPod makes the root directory of a pod. data is the folder of its volume with data; files has the content of the others, by volume and
// name. The root has the files of the image.
func newPod(t *testing.T, p *pod, image, data, hosts string, files map[string]map[string]string) *pod {
	t.Helper()
	p.root, p.log = t.TempDir(), filepath.Join(t.ArtifactDir(), p.name+".log")
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(p.root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	write("/etc/hosts", p.address+" localhost\n"+hosts)
	mounts := map[string]string{} // the folders to mount, by their place in the root
	for _, mount := range p.spec.Containers[0].VolumeMounts {
		content, known := files[mount.Name]
		if !known {
			mounts[mount.MountPath] = data
		} else if !mount.ReadOnly || len(content) == 0 {
			t.Fatalf("%s: the volume %s is writable or empty", p.name, mount.Name)
		}
		for name, text := range content {
			write(filepath.Join(mount.MountPath, name), p.onLoopback(text))
		}
	}
	folders, err := os.ReadDir(image)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		mounts["/"+folder.Name()] = filepath.Join(image, folder.Name())
	}
	for place := range mounts {
		if err := os.MkdirAll(filepath.Join(p.root, place), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	bind(t, p.root, p.root)
	readOnly(t, p.root)
	for place, folder := range mounts {
		bind(t, folder, filepath.Join(p.root, place))
	}
	return p
}

// bind mounts a folder at a place until the test ends.
func bind(t *testing.T, folder, place string) {
	t.Helper()
	if err := syscall.Mount(folder, place, "", syscall.MS_BIND, ""); err != nil {
		t.Fatalf("mount %s at %s: %v", folder, place, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(place, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", place, err)
		}
	})
}

func readOnly(t *testing.T, place string) {
	t.Helper()
	var stat syscall.Statfs_t
	err := syscall.Statfs(place, &stat)
	kept := uintptr(stat.Flags) & (syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC) // the system refuses to remove these
	if err = errors.Join(err, syscall.Mount("", place, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY|kept, "")); err != nil {
		t.Fatal(err)
	}
}

// onLoopback replaces the addresses of every pod by the one of this pod.
func (p *pod) onLoopback(text string) string {
	return strings.NewReplacer("0.0.0.0:", p.address+":", "127.0.0.1:8081", p.address+":8081").Replace(text)
}

// env returns the environment of the container.
func (p *pod) env(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"PATH": "/usr/local/bin"}
	for _, variable := range p.spec.Containers[0].Env {
		out[variable.Name] = variable.Value
		if variable.ValueFrom != nil {
			if variable.ValueFrom.FieldRef == nil || variable.ValueFrom.FieldRef.FieldPath != "metadata.name" {
				t.Fatalf("%s: the variable %s", p.name, variable.Name)
			}
			out[variable.Name] = p.name
		}
	}
	return out
}

// command returns a command in the root directory of the pod.
func (p *pod) command(t *testing.T, words ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("/usr/local/bin/"+strings.TrimPrefix(words[0], "/usr/local/bin/"), words[1:]...) //nolint:noctx // it outlives t.Context
	cmd.Dir, cmd.SysProcAttr, cmd.Env = "/", &syscall.SysProcAttr{Chroot: p.root}, []string{}
	variables := p.env(t)
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
		for i, word := range cmd.Args {
			cmd.Args[i] = strings.ReplaceAll(word, "$("+name+")", value)
		}
	}
	return cmd
}

// start starts the container. entrypoint is that of the image.
func (p *pod) start(t *testing.T, entrypoint ...string) {
	t.Helper()
	c := p.spec.Containers[0]
	if len(c.Command) > 0 {
		entrypoint = c.Command
	}
	words := append(slices.Clone(entrypoint), c.Args...)
	for i, word := range words {
		words[i] = p.onLoopback(word)
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd, p.ended = p.command(t, words...), make(chan struct{})
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("%s: %v", p.name, err)
	}
	cmd, ended := p.cmd, p.ended
	go func() {
		_ = cmd.Wait() // the exit code is in cmd
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		<-ended
		if t.Failed() {
			text, _ := os.ReadFile(p.log)
			t.Logf("%s prints\n%s", p.name, text[max(0, len(text)-8<<10):])
		}
	})
}

// probe sends the request of a probe, as a kubelet does.
func (p *pod) probe(t *testing.T, probe *corev1.Probe) error {
	t.Helper()
	port := probe.HTTPGet.Port.IntValue()
	for _, named := range p.spec.Containers[0].Ports {
		if named.Name == probe.HTTPGet.Port.StrVal {
			port = int(named.ContainerPort)
		}
	}
	url := fmt.Sprintf("%s://%s:%d%s", strings.ToLower(string(probe.HTTPGet.Scheme)), p.address, port, probe.HTTPGet.Path)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // as a kubelet
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close() // only the code matters
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

// awaitReady waits for the startup probe, and checks the other two.
func (p *pod) awaitReady(t *testing.T) {
	t.Helper()
	c := p.spec.Containers[0]
	gatewaytest.Until(t, p.name+" to start", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("%s ended with code %d", p.name, p.cmd.ProcessState.ExitCode())
		default:
		}
		return p.probe(t, c.StartupProbe) == nil
	})
	if err := errors.Join(p.probe(t, c.ReadinessProbe), p.probe(t, c.LivenessProbe)); err != nil {
		t.Errorf("%s: %v", p.name, err)
	}
}

// stop ends the pod as a kubelet does. The process must end by itself in the time that the pod gives it.
func (p *pod) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(time.Duration(*p.spec.TerminationGracePeriodSeconds) * time.Second):
		t.Errorf("%s does not end in its %d s", p.name, *p.spec.TerminationGracePeriodSeconds)
		p.kill(t)
	}
}

func (p *pod) kill(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-p.ended
}
