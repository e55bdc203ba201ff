package gateway

// Response headers of the keys API.
const (
	// revisionHeader is the revision of the state that an answer shows. An answer without a body has it too.
	revisionHeader = "Revtail-Revision"
	// timeHeader is the time of that state, if the request asks for a time.
	timeHeader = "Revtail-Time"
)
