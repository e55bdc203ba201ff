package gateway

import "time"

// keepsMetadata tells whether a successor is sure to be allowed the metadata that it has: it is that of the document before, but for
// what the server itself writes, and has nothing that could be wrong. Most updates are such; what is unusual is left to the
// library, which says what is wrong with it.
func (d document) keepsMetadata(old document) bool {
	was, kept := old.metadata(), 0
	for name, value := range d.metadata() {
		switch name {
		case "managedFields", "generation": // the server's
			if _, number := value.(int64); name == "generation" && !number {
				return false
			}
			continue
		case "name", "namespace", "uid", "resourceVersion":
		case "creationTimestamp":
			text, _ := value.(string)
			if _, err := time.Parse(time.RFC3339, text); err != nil {
				return false
			}
		case "labels":
			if !areLabels(value) {
				return false
			}
		default:
			return false
		}
		if !equalJSON(value, was[name]) {
			return false
		}
		kept++
	}
	for _, name := range []string{"managedFields", "generation"} {
		if _, ok := was[name]; ok {
			kept++
		}
	}
	return kept == len(was)
}

// areLabels tells whether labels are sure to be valid: those whose keys have a prefix are not.
func areLabels(value any) bool {
	labels, ok := value.(map[string]any)
	for key, value := range labels {
		text, isText := value.(string)
		if !isText || !isLabelText(key) || text != "" && !isLabelText(text) {
			return false
		}
	}
	return ok
}

// isLabelText tells whether a text has 63 letters at most, of those that labels may have, and begins and ends with a letter or digit.
func isLabelText(text string) bool {
	const most = 63
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case (c == '-' || c == '_' || c == '.') && i > 0 && i < len(text)-1:
		default:
			return false
		}
	}
	return 0 < len(text) && len(text) <= most
}
