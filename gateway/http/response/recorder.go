package response

import "net/http"

// recorder records the status of a response, and whether it is long-running. All middleware shares one.
type recorder struct {
	http.ResponseWriter
	Status      int
	LongRunning bool // see SetLongRunning
}

func (r *recorder) WriteHeader(status int) {
	if r.Status == 0 {
		r.Status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.Status == 0 {
		r.Status = http.StatusOK
	}
	return r.ResponseWriter.Write(p)
}

// Unwrap implements the interface of http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Record returns the recorder of a response, and the writer for the next handler: w if it has a recorder already.
func Record(w http.ResponseWriter) (*recorder, http.ResponseWriter) {
	if r, ok := unwrapTo[*recorder](w); ok {
		return r, w
	}
	r := &recorder{ResponseWriter: w}
	return r, r
}

// SetLongRunning records that a response is a watch or a long poll. The handler calls it when it begins to wait for events, because the
// duration of the request then says nothing about the gateway.
func SetLongRunning(w http.ResponseWriter) {
	if r, ok := unwrapTo[*recorder](w); ok {
		r.LongRunning = true
	}
}

// unwrapTo returns the first writer of a type in a chain of wrapped writers.
func unwrapTo[T any](w http.ResponseWriter) (found T, ok bool) {
	for {
		if found, ok = w.(T); ok {
			return found, true
		}
		wrapper, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return found, false
		}
		w = wrapper.Unwrap()
	}
}
