package response

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"revtail/gateway/http/status"
)

// Clause is one media range of an Accept header (RFC 9110, section 12.5.1).
type Clause struct {
	Media      string
	Parameters map[string]string
	quality    float64
}

// ParseAccept reads an Accept header: the clauses by quality, best first, those of equal quality as they stand.
func ParseAccept(header string) []Clause {
	if strings.TrimSpace(header) == "" {
		return []Clause{{Media: "*/*", quality: 1}}
	}
	var clauses []Clause
	for text := range strings.SplitSeq(header, ",") {
		media, parameters, err := mime.ParseMediaType(text)
		if err != nil {
			continue
		}
		c := Clause{Media: media, Parameters: parameters, quality: 1}
		if q, err := strconv.ParseFloat(parameters["q"], 64); err == nil {
			c.quality = q
		}
		if c.quality > 0 {
			clauses = append(clauses, c)
		}
	}
	slices.SortStableFunc(clauses, func(a, b Clause) int {
		switch {
		case a.quality > b.quality:
			return -1
		case a.quality < b.quality:
			return 1
		}
		return 0
	})
	return clauses
}

// Accepted are those of a request.
func Accepted(r *http.Request) []Clause {
	return ParseAccept(strings.Join(r.Header.Values("Accept"), ","))
}

// The media types of answers.
const (
	JSON = "application/json"
	YAML = "application/yaml"
)

// MediaType is the one of ours that a clause takes; empty: none.
func (c Clause) MediaType() string {
	switch c.Media {
	case JSON, "application/*", "*/*", "*":
		return JSON
	case YAML:
		return YAML
	}
	return ""
}

// Transforms tells whether a client asks for something made of the object: any of the parameters as, g and v says so.
func (c Clause) Transforms() bool {
	return c.Parameters["as"] != "" || c.Parameters["g"] != "" || c.Parameters["v"] != ""
}

// AcceptsJSON tells whether a client takes the plain JSON form of an answer.
func (c Clause) AcceptsJSON() bool {
	stream := c.Parameters["stream"]
	return c.MediaType() == JSON && !c.Transforms() && (stream == "" || stream == "watch")
}

// Negotiate finds out whether a client can read a document of this gateway's own.
func Negotiate(r *http.Request) error {
	_, err := NegotiateRepresentation(r, Object)
	return err
}

// NegotiateJSON finds out whether a client can read a document that there is in plain JSON only.
func NegotiateJSON(r *http.Request) error {
	if slices.ContainsFunc(Accepted(r), Clause.AcceptsJSON) {
		return nil
	}
	return NotAcceptable("only the following media types are accepted: " + JSON)
}

func NotAcceptable(message string) error {
	return status.Error(http.StatusNotAcceptable, "NotAcceptable", message)
}

// WantsHTML tells whether it is a browser that asks, for something to look at.
func WantsHTML(r *http.Request) bool {
	return slices.ContainsFunc(Accepted(r), func(c Clause) bool { return c.Media == "text/html" })
}
