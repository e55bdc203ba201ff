package http2

const (
	// defaultWindow is the initial window of a connection, and of a stream without settings (RFC 9113, section 6.9.2). maxWindow is the
	// largest window (section 6.9.1).
	defaultWindow = 65535
	maxWindow     = 1<<31 - 1
)

// window is the number of bytes that may be sent on a connection. net/http gets one half of it, and at least the default; hijacked streams
// get the rest. Neither can starve the other, however long the client reads nothing of a stream.
type window struct {
	total  int64
	theirs int64 // the share of net/http; the rest is for hijacked streams
}

// newWindow returns the default window. All of it is net/http's, because net/http assumes to have it.
func newWindow() window { return window{defaultWindow, defaultWindow} }

func (w *window) ours() int64 { return w.total - w.theirs }

// grant adds n bytes and returns how many of them are net/http's. ok is false if the window exceeds maxWindow.
func (w *window) grant(n int64) (theirs int64, ok bool) {
	w.total += n
	share := max(w.total/2, defaultWindow)
	theirs = min(max(share-w.theirs, 0), n)
	w.theirs += theirs
	return theirs, w.total <= maxWindow
}

// spend subtracts bytes that net/http has sent, and spendOurs bytes that were sent on hijacked streams.
func (w *window) spend(n int64) {
	w.total -= n
	w.theirs -= n
}

func (w *window) spendOurs(n int64) { w.total -= n }
