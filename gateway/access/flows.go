package access

import (
	"encoding/json"
	"net/http"

	"revtail/gateway/access/cputime"
	"revtail/gateway/access/flowcontrol"
	"revtail/gateway/http/response"
)

// ServeFlows returns a handler that answers with what each user holds, waits for and was refused, as JSON. It authenticates no request: the
// caller mounts it behind authentication, or on the operators' listener.
func ServeFlows(pools *flowcontrol.Pools, processor *cputime.Scheduler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := json.Marshal(struct {
			flowcontrol.View
			Processor []cputime.Usage `json:"processor"`
		}{pools.View(), processor.Usage()})
		if err != nil {
			response.WriteError(w, r, err)
			return
		}
		response.WriteJSON(w, r, http.StatusOK, text)
	}
}
