package gatewaytest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestDiskFull fills the disk of the embedded etcd and of the audit log by another program. Writes are refused with 507, everything else
// works, and writes go on as soon as there is room.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := mountDisk(t, "400m")
	gw := gatewaytest.Start(t, "--data-dir", filepath.Join(disk, "data"), "--audit-log-path", filepath.Join(disk, "audit.log"))
	gw.Create(t, configMaps, gatewaytest.ConfigMap("a", "1"))
	watch := gw.Watch(t, configMaps+"?watch=1")
	watch.Next(t)

	ballast := filepath.Join(disk, "ballast")
	fillDisk(t, ballast)
	gatewaytest.Until(t, "507", func() bool { return gw.Do(t, "POST", configMaps, gatewaytest.ConfigMap("b", "1")).Code == 507 })
	for range 100 {
		full := gw.Do(t, "POST", configMaps, gatewaytest.ConfigMap("b", strings.Repeat("x", 100<<10)))
		if full.Code != 507 || !strings.Contains(full.Body, "StorageFull") || !strings.Contains(full.Body, "MiB left") {
			t.Fatalf("a write on a full disk: %d %.300s", full.Code, full.Body)
		}
	}
	if ready := gw.Do(t, "GET", "/readyz?verbose", ""); ready.Code != 200 || !strings.Contains(ready.Body, "[!]etcd-health the disk of ") {
		t.Errorf("/readyz?verbose: %d %s", ready.Code, ready.Body)
	}
	if full := gatewaytest.Metric(t, gw.URL+"/metrics", "revtail_etcd_disk_full"); full != "1" {
		t.Errorf("revtail_etcd_disk_full is %q", full)
	}
	if list := gw.Do(t, "GET", configMaps, ""); list.Code != 200 || !strings.Contains(list.Body, `"a"`) {
		t.Errorf("a list: %d %s", list.Code, list.Body)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	gatewaytest.Until(t, "a write", func() bool { return gw.Do(t, "POST", configMaps, gatewaytest.ConfigMap("b", "2")).Code == 201 })
	if event := watch.Next(t); event.Object.Metadata.Name != "b" {
		t.Errorf("the watch goes on with %s", event.Line)
	}
}

// TestStartOnFullDisk checks that a start on a disk without room ends with a sentence and code 1.
func TestStartOnFullDisk(t *testing.T) {
	t.Parallel()
	disk := mountDisk(t, "100m")
	cmd := exec.CommandContext(t.Context(), gatewaytest.Binary(t), "serve", "--listen", "127.0.0.1:0", "--embedded-client-url", "http://127.0.0.1:0",
		"--data-dir", filepath.Join(disk, "data"))
	out, err := cmd.CombinedOutput()
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), "its disk has no room") || !strings.Contains(string(out), "--data-dir") {
		t.Errorf("code %d, %v: %s", code, err, out)
	}
}

// mountDisk mounts a file system in memory until the end of the test.
func mountDisk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mount: %v: this test needs the right to mount a file system, which root has", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk writes to a file until nothing more fits.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	for block := make([]byte, 1<<20); ; {
		if _, err := file.Write(block); err != nil {
			return // the disk is full
		}
	}
}
