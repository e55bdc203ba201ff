package robustness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"revtail/gateway/gatewaytest"
)

func journalDir(tb testing.TB) string {
	tb.Helper()
	return tb.TempDir()
}

// smallDisk returns a folder with a file system of its own: 48 MiB more than what a journal leaves free.
func smallDisk(tb testing.TB) string {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("only root can mount the small disk of a journal")
	}
	dir := tb.TempDir()
	if out, err := exec.CommandContext(tb.Context(), "mount", "-t", "tmpfs", "-o", "size=304m", "tmpfs", dir).CombinedOutput(); err != nil {
		tb.Skipf("the small disk of a journal cannot be mounted: %v: %s", err, out)
	}
	tb.Cleanup(func() {
		if out, err := exec.Command("umount", "--lazy", dir).CombinedOutput(); err != nil { //nolint:noctx // the context of the test has ended
			tb.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

// journalScenarios have gateways with a journal of what etcd compacts.
var journalScenarios = []Scenario{
	{
		Name: "journal-kills", Quick: true, Etcd: 1, Gateways: 2, JournalDir: journalDir, Seconds: [2]int{20, 120},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429}, Journal: true, Events: 3000, Resumes: 50, Faults: 3, Acknowledged: 200},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(40)...)
			r.Write(15)
			r.Wait(2 * time.Second)
			oldest := r.awaitJournals(1)
			for i := range seconds / 5 {
				for n := range 3 {
					compacted := r.compactJournaled(time.Second)
					r.Watch(rewound(fmt.Sprint("rewound-", i, "-", n), 3, oldest, compacted)...)
				}
				gw := r.gateways[i%len(r.gateways)]
				r.Fault("kill -9 of the gateway %s, which has a journal", gw.URL)
				gw.Kill(r.TB)
				r.Wait(time.Second)
				gw.life.Add(1)
				gw.Restart(r.TB)
			}
			r.pauseWriters()
			r.awaitJournals(r.Newest())
			r.compactJournaled(time.Second)
			r.readPast(oldest, nil)
			r.withoutGaps()
			r.Write(15)
			r.Wait(time.Second)
		},
	},
	{
		// The clients of a gateway that has begun anew resume where only the journal has events.
		Name: "journal-compaction", Etcd: 1, Gateways: 2, JournalDir: journalDir, Seconds: [2]int{15, 105},
		Rules: Rules{Ends: []End{Unreachable}, Codes: []int{429}, Journal: true, Events: 3000, Resumes: 50, Faults: 2, Acknowledged: 200},
		Play: func(r *Run, seconds int) {
			r.Watch(Crowd(40)...)
			r.Write(20)
			r.Wait(2 * time.Second)
			oldest := r.awaitJournals(1)
			r.Fault("etcd is compacted every second to where the journals are")
			for i := range seconds {
				r.Wait(time.Second)
				compacted := r.journaled()
				r.Compact(compacted)
				r.Watch(rewound(fmt.Sprint("rewound-", i), 2, oldest, compacted)...)
				if i%5 != 4 {
					continue
				}
				gw := r.gateways[i/5%len(r.gateways)]
				r.Fault("SIGTERM to %s", gw.URL)
				gw.Stop(r.TB)
				gw.life.Add(1)
				gw.Restart(r.TB)
			}
			r.pauseWriters()
			r.awaitJournals(r.Newest())
			r.Compact(r.Newest())
			r.readPast(oldest, nil)
			r.withoutGaps()
			r.Write(20)
			r.Wait(time.Second)
		},
	},
	{
		// One gateway runs while etcd is put back to an older state, the other one starts when the new history is longer than the former one.
		Name: "journal-restore", Quick: true, Etcd: 1, Gateways: 2, JournalDir: journalDir, Seconds: [2]int{3, 20},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429, 503, 504}, Relists: true, Events: 1000, Acknowledged: 50},
		Play:  playJournalRestore,
	},
	{
		// At etcd's address is another cluster, with the same early revisions, and then the first one again. One gateway runs meanwhile.
		Name: "journal-swap", Etcd: 1, Gateways: 2, JournalDir: journalDir, Seconds: [2]int{3, 20},
		Rules: Rules{Ends: []End{Cut, Unreachable}, Codes: []int{429, 503, 504}, Relists: true, Events: 1000, Acknowledged: 50},
		Play:  playJournalSwap,
	},
	{
		// While the disk of a journal is full, etcd is compacted: that is a gap, and all else stays right.
		Name: "journal-full", Etcd: 1, Gateways: 1, JournalDir: smallDisk, Seconds: [2]int{5, 20},
		Rules: Rules{Codes: []int{429}, Events: 1000, Faults: 2, Acknowledged: 50},
		Play:  playJournalFull,
	},
}

func playJournalRestore(r *Run, seconds int) {
	// The revisions of the clients are later than the backup, so that all of them are told.
	r.Watch(slices.DeleteFunc(Crowd(40), func(c Client) bool { return c.Scope.Name != "" })...)
	r.Write(20)
	r.Wait(time.Second)
	member, backup := r.cluster.Members[0], filepath.Join(r.TempDir(), "backup")
	member.Stop(r.TB)
	if err := os.CopyFS(backup, os.DirFS(member.DataDir)); err != nil {
		r.Fatal(err)
	}
	member.Restart(r.TB)
	r.Wait(time.Duration(seconds) * time.Second)
	r.pauseWriters()
	old, former := r.history(), r.Newest()
	r.awaitJournals(former)
	r.Wait(time.Second) // the journals are on the disk
	r.gateways[1].Kill(r.TB)
	r.Fault("etcd's files are replaced by a backup")
	r.putBack(member, backup)
	r.told(old, time.Now())
	restored := r.Newest()
	r.Note("etcd is at %d, and was at %d", restored, former)
	r.outgrow(restored, former, 2)
	r.Write(20)
	r.Wait(2 * time.Second)
}

// outgrow makes etcd's new history longer than the former one, compacts it, and then starts the second gateway, which was down. The past is read from the
// oldest revision that the truth has.
func (r *Run) outgrow(restored, former, oldest int64) {
	r.Write(20)
	gatewaytest.Until(r.TB, "a new history that is longer than the former one", func() bool {
		through := r.history().Truth.Through()
		if through > restored+5 {
			r.Compact(through - 5)
		}
		for _, at := range []int64{restored + 1, through - 5} { // right or 410, and never of the former history
			if l, err := r.list(r.Context(), 0, Exact, Scope{}, at); err == nil && at >= oldest {
				l.Reader = "the impatient"
				r.history().addList(l)
			}
		}
		return through > former+20
	})
	r.gateways[1].life.Add(1)
	r.gateways[1].Restart(r.TB)
	gatewaytest.Until(r.TB, "the journals go on", func() bool { return r.journaled() > former })
	resumed := r.Newest()
	r.Wait(2 * time.Second)
	r.pauseWriters()
	r.awaitJournals(r.Newest())
	r.Compact(r.Newest())
	r.readPast(oldest, func(revision int64) bool { return revision < resumed })
}

// playJournalSwap replaces etcd by another cluster that has the same early revisions, and the other way round.
func playJournalSwap(r *Run, seconds int) {
	r.Watch(slices.DeleteFunc(Crowd(40), func(c Client) bool { return c.Scope.Name != "" })...)
	r.Write(20)
	r.Wait(time.Second)
	member, snapshot, first := r.cluster.Members[0], filepath.Join(r.TempDir(), "snapshot.db"), filepath.Join(r.TempDir(), "first")
	r.tool("etcdctl", "--endpoints", member.Endpoint, "snapshot", "save", snapshot)
	r.Wait(time.Duration(seconds) * time.Second)
	former := r.turnTo("another cluster is at etcd's address", func() {
		if err := os.Rename(member.DataDir, first); err != nil {
			r.Fatal(err)
		}
		r.tool("etcdutl", "snapshot", "restore", snapshot, "--data-dir", member.DataDir, "--name", "m0", "--initial-cluster", "m0="+member.Peer,
			"--initial-advertise-peer-urls", member.Peer, "--initial-cluster-token", "another")
	})
	restored := r.Newest()
	r.Note("etcd is at %d, and was at %d", restored, former)
	r.outgrow(restored, former, restored)
	r.Write(20)
	r.Wait(2 * time.Second)
	outgrown := r.turnTo("the first cluster is there again", func() {
		if err := os.RemoveAll(member.DataDir); err != nil {
			r.Fatal(err)
		}
		if err := os.Rename(first, member.DataDir); err != nil {
			r.Fatal(err)
		}
	})
	r.outgrow(former, outgrown, former)
	r.Write(20)
	r.Wait(2 * time.Second)
}

// turnTo kills the second gateway, and etcd, whose files change. It returns the newest revision of the history that ends.
func (r *Run) turnTo(what string, change func()) (former int64) {
	r.pauseWriters()
	old, former := r.history(), r.Newest()
	r.awaitJournals(former)
	r.Wait(time.Second) // the journals are on the disk
	r.gateways[1].Kill(r.TB)
	r.Fault("%s", what)
	member := r.cluster.Members[0]
	member.Kill(r.TB)
	change()
	member.Restart(r.TB)
	r.turnAway()
	r.told(old, time.Now())
	return former
}

// putBack replaces the files of a member by a backup of it.
func (r *Run) putBack(member *gatewaytest.Member, backup string) {
	member.Kill(r.TB)
	if err := os.RemoveAll(member.DataDir); err != nil {
		r.Fatal(err)
	}
	if err := os.CopyFS(member.DataDir, os.DirFS(backup)); err != nil {
		r.Fatal(err)
	}
	member.Restart(r.TB)
	r.turnBack()
}

func playJournalFull(r *Run, seconds int) {
	r.Watch(Crowd(30)...)
	r.Write(20)
	r.Wait(2 * time.Second)
	oldest := r.awaitJournals(1)
	filler := filepath.Join(r.gateways[0].journal, "filler")
	r.Fault("the disk of the journal is filled")
	if err := os.WriteFile(filler, make([]byte, 48<<20), 0o600); err != nil {
		r.Fatal(err)
	}
	before := int64(-1)
	gatewaytest.Until(r.TB, "the journal to stop", func() bool {
		last := before
		before = r.journaled()
		r.Wait(500 * time.Millisecond)
		return before == last
	})
	r.Wait(time.Duration(seconds) * time.Second)
	r.Compact(r.history().Truth.Through())
	if err := os.Remove(filler); err != nil {
		r.Fatal(err)
	}
	r.Fault("the disk has room again")
	gatewaytest.Until(r.TB, "a gap of the journal", func() bool { return r.journalMetric(0, "gaps") == 1 })
	after := r.journaled()
	r.Wait(2 * time.Second)
	r.pauseWriters()
	r.awaitJournals(r.Newest())
	r.Compact(r.Newest())
	r.readPast(oldest, func(revision int64) bool { return revision > before && revision < after })
	r.Note("the journal stopped at %d, and went on at %d at most", before, after)
	r.Write(20)
	r.Wait(time.Second)
}
