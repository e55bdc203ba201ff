package program

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Patience is the longest wait for an event that normally follows at once.
const Patience = 60 * time.Second

// Process is a program that is measured from outside: its costs are those that the operating system reports.
type Process struct {
	Name  string
	cmd   *exec.Cmd
	log   string        // the file with its stderr
	first chan string   // gets its first line on stdout
	Ended chan struct{} // closed when the process has ended
}

// Launch starts a program whose files are in dir.
func Launch(name, dir string, command ...string) (*Process, error) {
	log, err := os.CreateTemp(dir, name+"-*.log")
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the program has its own descriptor
	p := &Process{Name: name, log: log.Name(), first: make(chan string, 1), Ended: make(chan struct{})}
	p.cmd = exec.Command(command[0], command[1:]...) //nolint:noctx // Stop stops it gracefully
	p.cmd.Dir = dir
	p.cmd.Stderr = log
	for _, variable := range os.Environ() {
		if !strings.HasPrefix(variable, "REVTAIL_") && !strings.HasPrefix(variable, "ETCD_") {
			p.cmd.Env = append(p.cmd.Env, variable)
		}
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.follow(stdout)
	return p, nil
}

func (p *Process) follow(stdout io.Reader) {
	reader := bufio.NewReader(stdout)
	if line, err := reader.ReadString('\n'); err == nil {
		p.first <- strings.TrimSpace(line)
	}
	_, _ = io.Copy(io.Discard, reader)
	_ = p.cmd.Wait() // its exit code does not matter
	close(p.Ended)
}

// Ready waits for the program's first line, and returns its words of the form key=value.
func (p *Process) Ready(ctx context.Context) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	select {
	case line := <-p.first:
		words := map[string]string{}
		for word := range strings.FieldsSeq(line) {
			key, value, _ := strings.Cut(word, "=")
			words[key] = value
		}
		return words, nil
	case <-p.Ended:
		return nil, fmt.Errorf("%s ended before it was ready: %s", p.Name, p.LastWords())
	case <-ctx.Done():
		return nil, fmt.Errorf("%s is not ready: %w", p.Name, ctx.Err())
	}
}

// LastWords returns the end of the log.
func (p *Process) LastWords() string {
	const most = 1000
	log, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(log[max(0, len(log)-most):]))
}

// Stop ends the program gracefully, or else by force.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-p.Ended:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.Ended
	}
}

// File returns the path of a file below /proc/PID.
func (p *Process) File(name string) string {
	return filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), name)
}

// CPU returns the processor time of the program, in user and kernel mode. The scheduler's statistics of its threads, of which a Go program
// ends none, are exact; without them the ticks of the process are used.
func (p *Process) CPU() (time.Duration, error) {
	threads, err := filepath.Glob(p.File("task/*/schedstat"))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, thread := range threads {
		account, err := os.ReadFile(thread) //nolint:gosec // below /proc
		if err != nil {
			return p.ticks()
		}
		used, err := parseSchedstat(string(account))
		if err != nil {
			return 0, err
		}
		sum += used
	}
	if sum == 0 {
		return p.ticks()
	}
	return sum, nil
}

// parseSchedstat reads the first field of /proc/PID/task/TID/schedstat: nanoseconds on a processor.
func parseSchedstat(account string) (time.Duration, error) {
	used, _, _ := strings.Cut(account, " ")
	n, err := strconv.ParseInt(used, 10, 64)
	return time.Duration(n), err
}

// ticks returns the processor time in units of 10 ms.
func (p *Process) ticks() (time.Duration, error) {
	stat, err := os.ReadFile(p.File("stat"))
	if err != nil {
		return 0, err
	}
	return parseCPU(string(stat))
}

// parseCPU reads utime and stime, the 14th and 15th field of /proc/PID/stat. The second field may contain any character, brackets too.
func parseCPU(stat string) (time.Duration, error) {
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/PID/stat is %q", stat)
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * tick, err
}

// Memory returns the anonymous memory of the program in RAM: its heap and stacks.
func (p *Process) Memory() (int64, error) { return p.kilobytes("smaps_rollup", "Anonymous") }

// Resident returns all memory of the program in RAM.
func (p *Process) Resident() (int64, error) { return p.kilobytes("status", "VmRSS") }

// Peak returns the maximum of Resident since ForgetPeak.
func (p *Process) Peak() (int64, error) { return p.kilobytes("status", "VmHWM") }

// ForgetPeak makes Peak begin with the present.
func (p *Process) ForgetPeak() error { return os.WriteFile(p.File("clear_refs"), []byte("5"), 0) }

// kilobytes returns the value of a line of a file below /proc/PID, in bytes.
func (p *Process) kilobytes(file, key string) (int64, error) {
	text, err := os.ReadFile(p.File(file))
	if err != nil {
		return 0, err
	}
	return parseKilobytes(string(text), key)
}

func parseKilobytes(text, key string) (int64, error) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			return n << 10, err
		}
	}
	return 0, fmt.Errorf("no line %s", key)
}

// Settled returns the smallest memory of the idle program within a time, because garbage is returned to the operating system late.
func (p *Process) Settled(ctx context.Context, d time.Duration) (int64, error) {
	least, err := p.Memory()
	for end := time.Now().Add(d); err == nil && time.Now().Before(end); {
		if err = Pause(ctx, d/10); err == nil {
			var now int64
			now, err = p.Memory()
			least = min(least, now)
		}
	}
	return least, err
}

// Pause lets time pass, unless ctx ends.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
