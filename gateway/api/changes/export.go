package changes

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"revtail/etcdstore/journal"
	"revtail/gateway/http/request"
	"revtail/gateway/http/response"
	"revtail/gateway/http/status"
)

// ErrNone is the error for a gateway without a Source.
var ErrNone = status.Error(http.StatusNotImplemented, "NotImplemented", "this gateway keeps no history: start it with --history-dir, or ask one that does")

// errOpened is the error for a file that is served.
var errOpened = status.Error(http.StatusNotImplemented, "NotImplemented", "this server has opened an export or a directory: copy that, or export it with revtail history export")

// exporter is a Recorder whose journal can be exported.
type exporter interface {
	Export(ctx context.Context, w io.Writer) (journal.Summary, error)
}

// Export writes the response with all that is recorded, as of one moment, for another gateway. Values are those of etcd: encrypted ones stay so. The path
// is one of its own for policies, because with it all objects and keys that are recorded can be read. Without the last line of an export the response
// is not complete. An error, which is a Status, comes before the response; it is ErrNone if s is nil.
func (s *Source) Export(w http.ResponseWriter, r *http.Request, compressors *response.Compressors, logger *slog.Logger) error {
	if s == nil {
		return ErrNone
	}
	recorder, ok := s.Recorder.(exporter)
	if !ok {
		return errOpened
	}
	if len(r.URL.RawQuery) > 0 {
		return status.BadRequest("%s has no parameters", r.URL.Path)
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	if request.IsHead(r) {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	body := bodyWriter{response.NewBody(w, r, http.StatusOK, compressors)}
	sum, err := recorder.Export(r.Context(), body)
	switch {
	case errors.Is(err, journal.ErrNotOpen):
		body.Put()
		return status.RetryableError(http.StatusServiceUnavailable, "ServiceUnavailable", "this gateway has no journal yet: try again later, or ask another one", retryExport)
	case errors.Is(err, journal.ErrExporting):
		body.Put()
		return status.RetryableError(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "another export runs, and there is one at a time: try again later", retryExport)
	case err != nil:
		logger.Warn("an export of the journal ended early", "events", sum.Events, "error", err)
	default:
		logger.Info("the journal was exported", "ranges", sum.Ranges, "states", sum.States, "events", sum.Events)
	}
	body.Finish()
	return nil
}

// retryExport is after how many seconds a client tries again.
const retryExport = 10

// bodyWriter is a body as an io.Writer.
type bodyWriter struct{ *response.Body }

// Write implements io.Writer.
func (b bodyWriter) Write(p []byte) (int, error) {
	b.Bytes = append(b.Bytes, p...)
	return len(p), b.FlushLarge()
}
