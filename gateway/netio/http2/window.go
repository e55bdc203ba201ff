package http2

const (
	// defaultWindow is what may be sent on a connection, or a stream, of which the client has said nothing (RFC 9113, section 6.9.2),
	// and maxWindow the most (section 6.9.1).
	defaultWindow = 65535
	maxWindow     = 1<<31 - 1
)

// window is how much may be sent on a connection. net/http is told of one half, but not of less than every connection has, and keeps to
// it; the rest is for streams that have been taken. So neither can starve the other, however long one of its clients takes nothing.
type window struct {
	total  int64
	theirs int64 // of net/http; what is not, is ours
}

// newWindow: what a client says nothing of is net/http's, which cannot be told otherwise.
func newWindow() window { return window{defaultWindow, defaultWindow} }

func (w *window) ours() int64 { return w.total - w.theirs }

// grant is called when the client takes n bytes more, and returns how many of them net/http is to be told of. false: the client may
// not grant so much.
func (w *window) grant(n int64) (theirs int64, ok bool) {
	w.total += n
	share := max(w.total/2, defaultWindow)
	theirs = min(max(share-w.theirs, 0), n)
	w.theirs += theirs
	return theirs, w.total <= maxWindow
}

// spend is called for what net/http has sent, spendOurs for the rest.
func (w *window) spend(n int64) {
	w.total -= n
	w.theirs -= n
}

func (w *window) spendOurs(n int64) { w.total -= n }
