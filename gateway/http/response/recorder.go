package response

import "net/http"

// recorder remembers the status of an answer. An answer has one.
type recorder struct {
	http.ResponseWriter
	Status int
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

// Unwrap lets http.ResponseController reach what is below: flushes and deadlines.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Record returns the recorder of an answer, and the writer to go on with: w where it is recorded already.
func Record(w http.ResponseWriter) (*recorder, http.ResponseWriter) {
	for below := w; ; {
		if r, ok := below.(*recorder); ok {
			return r, w
		}
		wrapper, ok := below.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			r := &recorder{ResponseWriter: w}
			return r, r
		}
		below = wrapper.Unwrap()
	}
}
