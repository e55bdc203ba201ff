package status

import "net/http"

// ExpiredToken returns the error of a continue token of a compacted revision, with one for the newest state.
func ExpiredToken(fresh string) error {
	err := Error(http.StatusGone, "Expired", "The provided continue parameter is too old to display a consistent list result. "+
		"Start a new list without the continue parameter, or use the continue token in this response to get the rest of the results. "+
		"What that returns is not consistent with the pages before: objects created, modified or deleted since the first page may show.")
	err.ErrStatus.Continue = fresh
	return err
}
