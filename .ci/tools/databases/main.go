// Command databases compares embedded databases at the work of a journal: a table of processor time, disk and the time of a list.
package main

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"
)

// pair is an entry of a database.
type pair struct{ key, value []byte }

// database is an embedded database.
type database interface {
	// write writes some entries as one transaction.
	write(pairs []pair) error
	// sync makes what is written survive a crash.
	sync() error
	// before calls a function with the entries before a key, the last one first, until that returns false.
	before(keys [][]byte, use func(i int, p pair) bool) error
	close() error
}

// databases are the ways to open a database in a directory.
var databases = []struct {
	name string
	open func(dir string) (database, error)
}{{"pebble", openPebble}, {"bbolt", openBolt}, {"badger", openBadger}}

const (
	objectSize = 4 << 10
	// whole is how many changes of an object are stored as a whole value and differences.
	whole = 25
	// step is the number of events of a transaction.
	step = 20
	// syncEvery is the number of events between two syncs.
	syncEvery = 1000
	rounds    = 5
)

func main() {
	events := flag.Int("events", 400_000, "`number` of events")
	objects := flag.Int("objects", 10_000, "`number` of objects that the events change in turn")
	flag.Parse()
	if err := compare(*events, *objects); err != nil {
		fmt.Fprintln(os.Stderr, "databases:", err)
		os.Exit(1)
	}
}

func compare(events, objects int) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "DATABASE\tCPU AN EVENT\tDISK AN EVENT\tOPEN\tLIST OF ALL OBJECTS")
	for _, d := range databases {
		dir, err := os.MkdirTemp("", "databases-")
		if err != nil {
			return err
		}
		r, err := measure(d.open, dir, events, objects)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		fmt.Fprintf(out, "%s\t%.1f µs\t%d bytes\t%v\t%v\n", d.name, r.cpu, r.disk, r.open.Round(time.Millisecond), r.list.Round(time.Millisecond))
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	return out.Flush()
}

// result is a line of the table.
type result struct {
	cpu        float64 // µs
	disk       int64
	open, list time.Duration
}

func measure(open func(string) (database, error), dir string, events, objects int) (r result, err error) {
	db, err := open(dir)
	if err != nil {
		return r, err
	}
	used := cpu()
	if err := fill(db, events, objects); err != nil {
		return r, err
	}
	if err := db.close(); err != nil {
		return r, err
	}
	r.cpu = float64((cpu() - used).Microseconds()) / float64(events)
	if r.disk, err = diskUsage(dir); err != nil {
		return r, err
	}
	r.disk /= int64(events)
	began := time.Now()
	if db, err = open(dir); err != nil {
		return r, err
	}
	r.open = time.Since(began)
	var lists []time.Duration
	random := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		began := time.Now()
		if err := list(db, objects+random.IntN(events-objects), objects); err != nil {
			return r, err
		}
		lists = append(lists, time.Since(began))
	}
	slices.Sort(lists)
	r.list = lists[rounds/2]
	return r, db.close()
}

// fill writes the entries of events: the state of the object, whole or as a difference, and the entry of the revision.
func fill(db database, events, objects int) error {
	for n := 0; n < events; {
		var pairs []pair
		for range min(step, events-n) {
			object, change := n%objects, n/objects
			pairs = append(pairs,
				pair{stateKey(object, n), state(object, change)},
				pair{binary.BigEndian.AppendUint64([]byte("e"), uint64(n)), fmt.Appendf(nil, "%08x%s", n, objectName(object))})
			n++
		}
		if err := db.write(pairs); err != nil {
			return err
		}
		if n%syncEvery == 0 {
			if err := db.sync(); err != nil {
				return err
			}
		}
	}
	return db.sync()
}

// list reads the state of each object at a revision: the entries back to a whole value.
func list(db database, at, objects int) error {
	keys := make([][]byte, objects)
	for i := range keys {
		keys[i] = stateKey(i, at)
	}
	found := make([]bool, objects)
	err := db.before(keys, func(i int, p pair) bool {
		found[i] = strings.HasPrefix(string(p.key), "s"+objectName(i)) && p.value[0] == 0
		return !found[i]
	})
	if err == nil && slices.Contains(found, false) {
		err = fmt.Errorf("the list at %d lacks object %d", at, slices.Index(found, false))
	}
	return err
}

func objectName(object int) string {
	return fmt.Sprintf("/registry/pods/namespace-%d/pod-%06d", object%100, object)
}

func stateKey(object, revision int) []byte {
	return binary.BigEndian.AppendUint64([]byte("s"+objectName(object)), uint64(revision))
}

// state returns a document of 4 KB, or of 120 bytes for a difference. The first byte of a whole one is zero.
func state(object, change int) []byte {
	random := rand.New(rand.NewPCG(uint64(object), uint64(change)))
	if change%whole > 0 {
		return fmt.Appendf([]byte{1}, `Running"}],"lastTransitionTime":"2026-11-28T%02d:%02d:00Z","restartCount":%d,"uid":"%016x%016x"}`,
			change/60%24, change%60, change, random.Uint64(), random.Uint64())
	}
	out := append(make([]byte, 0, objectSize), 0)
	for len(out) < objectSize-32 {
		out = fmt.Appendf(out, `{"name":"variable-%d","value":"%x"},`, len(out), random.Uint32())
	}
	return out
}

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// diskUsage returns how many bytes the files of a directory take, without the holes in them.
func diskUsage(dir string) (sum int64, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return 0, err
		}
		sum += info.Sys().(*syscall.Stat_t).Blocks * 512
	}
	return sum, err
}
