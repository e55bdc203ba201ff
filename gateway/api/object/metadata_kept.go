package object

import "time"

// KeepsMetadata reports whether the metadata of an update needs no validation, as in most updates: it equals that of the old object, except
// for the members that the server writes, and has common members only.
func (d Object) KeepsMetadata(old Object) bool {
	was, kept := old.Metadata(), 0
	for name, value := range d.Metadata() {
		switch name {
		case "managedFields", "generation": // written by the server
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
		if !EqualJSON(value, was[name]) {
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

// areLabels reports whether labels need no validation. Labels with a prefix need it.
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

// isLabelText reports whether a text has at most 63 characters, all of them allowed in labels, and begins and ends with a letter or digit.
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
