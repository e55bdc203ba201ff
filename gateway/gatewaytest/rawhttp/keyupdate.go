package rawhttp

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
)

// RecordWriter writes the records of TLS 1.3 (RFC 8446, section 5) of a client, because crypto/tls sends no KeyUpdate.
type RecordWriter struct {
	// Conn is the connection below TLS.
	Conn net.Conn
	// Reader reads from TLS.
	Reader io.Reader

	tb     testing.TB
	secret []byte // traffic secret
	aead   cipher.AEAD
	iv     []byte
	number uint64 // of the next record under the secret
}

// HandshakeTLS makes a TLS 1.3 handshake on conn, after which only the RecordWriter writes. The configuration is changed.
func HandshakeTLS(tb testing.TB, conn net.Conn, config *tls.Config) *RecordWriter {
	tb.Helper()
	var keys bytes.Buffer
	config.MinVersion, config.KeyLogWriter = tls.VersionTLS13, &keys
	client := tls.Client(conn, config)
	if err := client.HandshakeContext(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if suite := client.ConnectionState().CipherSuite; suite != tls.TLS_AES_128_GCM_SHA256 {
		tb.Skip("the server has chosen ", tls.CipherSuiteName(suite))
	}
	w := &RecordWriter{Conn: conn, Reader: client, tb: tb}
	for line := range strings.Lines(keys.String()) {
		if fields := strings.Fields(line); fields[0] == "CLIENT_TRAFFIC_SECRET_0" {
			secret, err := hex.DecodeString(fields[2])
			if err != nil {
				tb.Fatal(err)
			}
			w.use(secret)
		}
	}
	return w
}

// use changes the traffic secret.
func (w *RecordWriter) use(secret []byte) {
	block, err := aes.NewCipher(w.expand(secret, "key", 16))
	if err != nil {
		w.tb.Fatal(err)
	}
	if w.aead, err = cipher.NewGCM(block); err != nil {
		w.tb.Fatal(err)
	}
	w.secret, w.iv, w.number = secret, w.expand(secret, "iv", 12), 0
}

// expand is HKDF-Expand-Label without a context (section 7.1).
func (w *RecordWriter) expand(secret []byte, label string, size int) []byte {
	label = "tls13 " + label
	info := append([]byte{0, byte(size), byte(len(label))}, label...)
	out, err := hkdf.Expand(sha256.New, secret, string(append(info, 0)), size)
	if err != nil {
		w.tb.Fatal(err)
	}
	return out
}

// record returns one encrypted record.
func (w *RecordWriter) record(kind byte, content []byte) []byte {
	nonce := bytes.Clone(w.iv)
	binary.BigEndian.PutUint64(nonce[4:], binary.BigEndian.Uint64(nonce[4:])^w.number)
	w.number++
	size := len(content) + 1 + w.aead.Overhead()
	head := []byte{23, 3, 3, byte(size >> 8), byte(size)}
	return w.aead.Seal(head, nonce, append(bytes.Clone(content), kind), head)
}

// Write sends application data of at most 16 KiB.
func (w *RecordWriter) Write(p []byte) (int, error) { return w.Conn.Write(w.record(23, p)) }

// KeyUpdates returns a reader of endless KeyUpdate records, each of which requests one of the server. After every 16 it has a record with
// data, because crypto/tls accepts no more without any.
func (w *RecordWriter) KeyUpdates(data []byte) io.Reader { return &keyUpdates{w: w, data: data} }

type keyUpdates struct {
	w    *RecordWriter
	data []byte
	made int    // number of records
	rest []byte // of the last one
}

// Read implements io.Reader.
func (k *keyUpdates) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(k.rest) == 0 {
			k.next()
		}
		copied := copy(p[n:], k.rest)
		n, k.rest = n+copied, k.rest[copied:]
	}
	return n, nil
}

func (k *keyUpdates) next() {
	if k.made++; k.made%17 == 0 {
		k.rest = k.w.record(23, k.data)
		return
	}
	k.rest = k.w.record(22, []byte{24, 0, 0, 1, 1})
	k.w.use(k.w.expand(k.w.secret, "traffic upd", sha256.Size))
}
