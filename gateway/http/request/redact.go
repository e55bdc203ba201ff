package request

import (
	"net/url"

	"revtail/gateway/access/authentication"
)

// secretParameters are query parameters that are written nowhere. Tokens are not read from URLs; some clients try.
var secretParameters = []string{authentication.TicketParameter, "access_token", "id_token", "token", "authorization"}

// Redact is a query as it may be written to a log.
func Redact(query string) string {
	if query == "" {
		return ""
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return "malformed"
	}
	for _, name := range secretParameters {
		if values.Has(name) {
			values.Set(name, "hidden")
			query = ""
		}
	}
	if query == "" {
		return values.Encode()
	}
	return query
}
