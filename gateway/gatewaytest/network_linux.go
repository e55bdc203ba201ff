package gatewaytest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// canOwnNetwork reports whether the system permits namespaces to this process.
var canOwnNetwork = sync.OnceValue(func() bool {
	cmd := exec.Command("true")
	cmd.SysProcAttr = ownNetworkAttr()
	return cmd.Run() == nil
})

// ownNetworkAttr starts a process with a user namespace, in which it is root, and its own network and mounts.
func ownNetworkAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// enterNetwork enables loopback, and writes the files that kubectl finds in a pod.
func enterNetwork(t *testing.T) {
	t.Helper()
	if err := loopbackUp(); err != nil {
		t.Fatal(err)
	}
	run, err := filepath.EvalSymlinks("/var/run")
	if err != nil {
		t.Fatal(err)
	}
	account := filepath.Join(run, "secrets/kubernetes.io/serviceaccount")
	err = errors.Join(unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""), unix.Mount("tmpfs", run, "tmpfs", 0, ""))
	if err == nil {
		err = os.MkdirAll(account, 0o700)
	}
	for _, name := range []string{"token", "ca.crt", "namespace"} {
		if err == nil {
			err = os.WriteFile(filepath.Join(account, name), []byte("trap"), 0o600)
		}
	}
	if err != nil {
		t.Fatalf("the files of a pod: %v", err)
	}
}

// loopbackUp enables the loopback interface.
func loopbackUp() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }() // an error does not matter
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	loopback.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback)
}
