package http2

const (
	// defaultWindow is the initial window of a connection, and of a stream without settings (RFC 9113, section 6.9.2), and maxWindow the
	// largest (section 6.9.1).
	defaultWindow = 65535
	maxWindow     = 1<<31 - 1
)

// window is how many bytes may be sent on a connection. net/http gets one half of it, and at least the default; taken streams get the
// rest. So neither can starve the other, however long a stream takes nothing.
type window struct {
	total  int64
	theirs int64 // of net/http; what is not, is ours
}

// newWindow returns the default window, which net/http assumes to have.
func newWindow() window { return window{defaultWindow, defaultWindow} }

func (w *window) ours() int64 { return w.total - w.theirs }

// grant adds n bytes, and returns how many of them are net/http's; ok is false if the window becomes larger than maxWindow.
func (w *window) grant(n int64) (theirs int64, ok bool) {
	w.total += n
	share := max(w.total/2, defaultWindow)
	theirs = min(max(share-w.theirs, 0), n)
	w.theirs += theirs
	return theirs, w.total <= maxWindow
}

// spend is called for what net/http has sent, and spendOurs for what was sent on taken streams.
func (w *window) spend(n int64) {
	w.total -= n
	w.theirs -= n
}

func (w *window) spendOurs(n int64) { w.total -= n }
