package response

// Response headers of the keys API.
const (
	// RevisionHeader is the revision of the state that an answer shows. An answer without a body has it too.
	RevisionHeader = "Revtail-Revision"
	// TimeHeader is the time of that state, if the request asks for a time.
	TimeHeader = "Revtail-Time"
)
