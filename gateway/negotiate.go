package gateway

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// clause is one media range of an Accept header (RFC 9110, section 12.5.1).
type clause struct {
	media      string
	parameters map[string]string
	quality    float64
}

// parseAccept reads an Accept header: the clauses by quality, best first, those of equal quality as they stand.
func parseAccept(header string) []clause {
	if strings.TrimSpace(header) == "" {
		return []clause{{media: "*/*", quality: 1}}
	}
	var clauses []clause
	for text := range strings.SplitSeq(header, ",") {
		media, parameters, err := mime.ParseMediaType(text)
		if err != nil {
			continue
		}
		c := clause{media: media, parameters: parameters, quality: 1}
		if q, err := strconv.ParseFloat(parameters["q"], 64); err == nil {
			c.quality = q
		}
		if c.quality > 0 {
			clauses = append(clauses, c)
		}
	}
	slices.SortStableFunc(clauses, func(a, b clause) int {
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

// acceptedClauses are those of a request.
func acceptedClauses(r *http.Request) []clause {
	return parseAccept(strings.Join(r.Header.Values("Accept"), ","))
}

// The media types of answers.
const (
	jsonType = "application/json"
	yamlType = "application/yaml"
)

// mediaType is the one of ours that a clause takes; empty: none.
func (c clause) mediaType() string {
	switch c.media {
	case jsonType, "application/*", "*/*", "*":
		return jsonType
	case yamlType:
		return yamlType
	}
	return ""
}

// transforms tells whether a client asks for something made of the object: any of the parameters as, g and v says so.
func (c clause) transforms() bool {
	return c.parameters["as"] != "" || c.parameters["g"] != "" || c.parameters["v"] != ""
}

// acceptsJSON tells whether a client takes the plain JSON form of an answer.
func (c clause) acceptsJSON() bool {
	stream := c.parameters["stream"]
	return c.mediaType() == jsonType && !c.transforms() && (stream == "" || stream == "watch")
}

// negotiate finds out whether a client can read a document of this gateway's own.
func negotiate(r *http.Request) error {
	_, err := negotiateForm(r, anObject)
	return err
}

// negotiateJSON finds out whether a client can read a document that there is in plain JSON only.
func negotiateJSON(r *http.Request) error {
	if slices.ContainsFunc(acceptedClauses(r), clause.acceptsJSON) {
		return nil
	}
	return notAcceptable("only the following media types are accepted: " + jsonType)
}

func notAcceptable(message string) error {
	return &apierrors.StatusError{ErrStatus: *newStatus(http.StatusNotAcceptable, "NotAcceptable", message)}
}

// wantsPage tells whether it is a browser that asks, for something to look at.
func wantsPage(r *http.Request) bool {
	return slices.ContainsFunc(acceptedClauses(r), func(c clause) bool { return c.media == "text/html" })
}
