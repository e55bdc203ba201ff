package certificate_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"revtail/gateway/access/certificate"
	"revtail/gateway/gatewaytest"
)

// world is a Keeper that runs over files in a folder, which the test replaces.
type world struct {
	*certificate.Keeper
	files     certificate.Files
	authority *gatewaytest.Authority
	log       *bytes.Buffer
}

// inWorld runs a test in a bubble, where time passes when all goroutines wait.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		w := &world{
			files: certificate.Files{
				Certificate: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key"), ClientCA: filepath.Join(dir, "ca.crt"),
			},
			authority: gatewaytest.NewAuthority(t, "first"),
		}
		w.write(t, w.authority.Issue(t, "first"))
		writeFile(t, w.files.ClientCA, w.authority.PEM)
		w.open(t)
		test(t, w)
	})
}

func (w *world) open(t *testing.T) {
	t.Helper()
	w.log = new(bytes.Buffer)
	keeper, err := certificate.Open(w.files, slog.New(slog.NewTextHandler(w.log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	w.Keeper = keeper
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = keeper.Run(ctx) }) // it always returns nil
	t.Cleanup(func() { cancel(); running.Wait() })
}

// write replaces the pair, one file after the other.
func (w *world) write(t *testing.T, pair gatewaytest.Pair) {
	t.Helper()
	writeFile(t, w.files.Certificate, pair.Cert)
	writeFile(t, w.files.Key, pair.Key)
}

func writeFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// pass lets time pass, and waits until all goroutines wait again.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// wantServed checks the certificate of a new connection, and the authority for client certificates.
func (w *world) wantServed(t *testing.T, name, authority string) {
	t.Helper()
	config, err := w.Config().GetConfigForClient(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := config.Certificates[0].Leaf.Subject.CommonName; got != name {
		t.Errorf("a new connection gets the certificate of %s, want that of %s", got, name)
	}
	subjects := config.ClientCAs.Subjects() //nolint:staticcheck // deprecated for the system's pool, which this is not
	if len(subjects) != 1 || !bytes.Contains(subjects[0], []byte(authority)) {
		t.Errorf("clients are checked with %q, want %s", subjects, authority)
	}
}

func (w *world) wantMetric(t *testing.T, name string, want float64) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			if got := family.Metric[0].GetGauge().GetValue() + family.Metric[0].GetCounter().GetValue(); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
			return
		}
	}
	t.Errorf("no metric %s", name)
}

// wantTrouble checks how many problems were reported, and whether there is one now.
func (w *world) wantTrouble(t *testing.T, times int, now bool) {
	t.Helper()
	if got := strings.Count(w.log.String(), "level=WARN"); got != times {
		t.Errorf("%d warnings, want %d:\n%s", got, times, w.log)
	}
	w.wantMetric(t, "revtail_tls_reload_failures_total", float64(times))
	successful := 1.0
	if now {
		successful = 0
	}
	w.wantMetric(t, "revtail_tls_last_reload_successful", successful)
}

const aWhile = 10 * time.Second // several checks

func TestFilesAreUsedWhenTheyChange(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.wantServed(t, "first", "first")
		w.write(t, w.authority.Issue(t, "second"))
		pass(aWhile)
		w.wantServed(t, "second", "first")

		writeFile(t, w.files.ClientCA, gatewaytest.NewAuthority(t, "other").PEM)
		pass(aWhile)
		w.wantServed(t, "second", "other")
		w.wantTrouble(t, 0, false)
	})
}

// A Secret in a volume is a folder of links to ..data/NAME, where ..data is a link that is replaced.
func TestLinksAreFollowed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		dir := t.TempDir()
		mount := func(version, name string) {
			pair := w.authority.Issue(t, name)
			check(t, os.Mkdir(filepath.Join(dir, version), 0o700))
			for file, content := range map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": w.authority.PEM} {
				writeFile(t, filepath.Join(dir, version, file), content)
			}
			check(t, os.Symlink(version, filepath.Join(dir, "..data_tmp")))
			check(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
		}
		mount("..v1", "first")
		for file, name := range map[*string]string{&w.files.Certificate: "tls.crt", &w.files.Key: "tls.key", &w.files.ClientCA: "ca.crt"} {
			*file = filepath.Join(dir, name)
			check(t, os.Symlink(filepath.Join("..data", name), *file))
		}
		w.open(t)
		mount("..v2", "second")
		check(t, os.RemoveAll(filepath.Join(dir, "..v1")))
		pass(aWhile)
		w.wantServed(t, "second", "first")
		w.wantTrouble(t, 0, false)
	})
}

func TestUnusableFilesAreReportedOnceAndChangeNothing(t *testing.T) {
	breakages := map[string]func(t *testing.T, w *world){
		"certificate of another key": func(t *testing.T, w *world) { writeFile(t, w.files.Certificate, w.authority.Issue(t, "second").Cert) },
		"key of another certificate": func(t *testing.T, w *world) { writeFile(t, w.files.Key, w.authority.Issue(t, "second").Key) },
		"half of a certificate": func(t *testing.T, w *world) {
			half := w.authority.Issue(t, "second").Cert
			writeFile(t, w.files.Certificate, half[:len(half)/2])
		},
		"empty key":             func(t *testing.T, w *world) { writeFile(t, w.files.Key, nil) },
		"no certificate":        func(t *testing.T, w *world) { check(t, os.Remove(w.files.Certificate)) },
		"no authorities":        func(t *testing.T, w *world) { check(t, os.Remove(w.files.ClientCA)) },
		"malformed authorities": func(t *testing.T, w *world) { writeFile(t, w.files.ClientCA, []byte("none")) },
		"authorities, one of them broken": func(t *testing.T, w *world) {
			broken := bytes.Clone(w.authority.PEM)
			copy(broken[len(broken)/2:], "AAAAAAAA")
			writeFile(t, w.files.ClientCA, append(bytes.Clone(w.authority.PEM), broken...))
		},
	}
	for name, breakIt := range breakages {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				breakIt(t, w)
				pass(aWhile)
				w.wantServed(t, "first", "first")
				w.wantTrouble(t, 1, true)

				w.write(t, w.authority.Issue(t, "third"))
				writeFile(t, w.files.ClientCA, w.authority.PEM)
				pass(aWhile)
				w.wantServed(t, "third", "first")
				w.wantTrouble(t, 1, false)
			})
		})
	}
}

func TestTroubleEndsWhenTheFilesAreRestored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		before, err := os.ReadFile(w.files.Key)
		check(t, err)
		writeFile(t, w.files.Key, nil)
		pass(aWhile)
		w.wantTrouble(t, 1, true)
		writeFile(t, w.files.Key, before)
		pass(aWhile)
		w.wantTrouble(t, 1, false)
		writeFile(t, w.files.Key, nil)
		pass(aWhile)
		w.wantTrouble(t, 2, true)
	})
}

func TestAnotherTroubleIsReportedToo(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i, name := range []string{"second", "third"} {
			writeFile(t, w.files.Key, w.authority.Issue(t, name).Key)
			pass(aWhile)
			w.wantTrouble(t, i+1, true)
		}
	})
}

// A program that replaces one file after the other leaves the files inconsistent between two writes.
func TestNothingIsReportedWhileFilesAreReplaced(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		second := w.authority.Issue(t, "second")
		writeFile(t, w.files.Certificate, second.Cert)
		pass(3 * time.Second) // one check
		w.wantServed(t, "first", "first")
		writeFile(t, w.files.Key, second.Key)
		pass(aWhile)
		w.wantServed(t, "second", "first")
		w.wantTrouble(t, 0, false)
	})
}

func TestReloadChecksAtOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.write(t, w.authority.Issue(t, "second"))
		w.Reload()
		w.wantServed(t, "second", "first")
		writeFile(t, w.files.Key, nil)
		for i := range 3 { // each caller gets an answer
			w.Reload()
			w.wantTrouble(t, i+1, true)
		}
		pass(aWhile)
		w.wantTrouble(t, 3, true)
		w.write(t, w.authority.Issue(t, "third"))
		w.Reload()
		w.wantServed(t, "third", "first")
		w.wantTrouble(t, 3, false)
	})
}

func TestCertificatesOutOfDateAreUsedWithAWarning(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var expired time.Time
		w.write(t, w.authority.Issue(t, "expired", func(c *x509.Certificate) {
			expired = time.Now().Add(-time.Minute)
			c.NotAfter = expired
		}))
		pass(aWhile)
		w.wantServed(t, "expired", "first")
		w.wantMetric(t, "revtail_tls_certificate_expiry_timestamp_seconds", float64(expired.Unix()))
		w.wantLog(t, "--tls-cert-file has expired")

		w.write(t, w.authority.Issue(t, "early", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }))
		pass(aWhile)
		w.wantServed(t, "early", "first")
		w.wantLog(t, "--tls-cert-file is not valid before")

		late := gatewaytest.NewAuthority(t, "late", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })
		writeFile(t, w.files.ClientCA, late.PEM)
		pass(aWhile)
		w.wantServed(t, "early", "late")
		w.wantLog(t, "--client-ca-file has expired")
		w.wantMetric(t, "revtail_tls_reload_failures_total", 0)
	})
}

func (w *world) wantLog(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(w.log.String(), text) {
		t.Errorf("the log does not say %q:\n%s", text, w.log)
	}
}

func TestOpenRefuses(t *testing.T) {
	authority := gatewaytest.NewAuthority(t, "test")
	pair, other := authority.Issue(t, "a"), authority.Issue(t, "b")
	dir := t.TempDir()
	file := func(name string, content []byte) string {
		writeFile(t, filepath.Join(dir, name), content)
		return filepath.Join(dir, name)
	}
	cert, key, otherKey, empty := file("cert", pair.Cert), file("key", pair.Key), file("other", other.Key), file("empty", nil)
	tests := map[string]struct {
		files certificate.Files
		says  []string
	}{
		"no certificate":     {certificate.Files{Certificate: "absent", Key: key}, []string{"--tls-cert-file: ", "absent"}},
		"no key":             {certificate.Files{Certificate: cert, Key: "absent"}, []string{"--tls-private-key-file: ", "absent"}},
		"no authorities":     {certificate.Files{Certificate: cert, Key: key, ClientCA: "absent"}, []string{"--client-ca-file: ", "absent"}},
		"key of another":     {certificate.Files{Certificate: cert, Key: otherKey}, []string{"--tls-cert-file", "--tls-private-key-file", "does not match"}},
		"empty authorities":  {certificate.Files{Certificate: cert, Key: key, ClientCA: empty}, []string{"--client-ca-file", "no certificate"}},
		"everything at once": {certificate.Files{Certificate: "absent", Key: "absent"}, []string{"--tls-cert-file: ", "--tls-private-key-file: "}},
	}
	for name, test := range tests {
		_, err := certificate.Open(test.files, slog.New(slog.DiscardHandler))
		for _, says := range test.says {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want an error with %q", name, err, says)
			}
		}
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
