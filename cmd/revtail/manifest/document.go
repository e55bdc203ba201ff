package manifest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Document is an object in a file.
type Document struct {
	Source                            string // the file, and the number of the document if it has several
	APIVersion, Kind, Namespace, Name string
	JSON                              json.RawMessage
}

// errNothing is the error of a file without an object.
var errNothing = errors.New("there is no object in it: want, for example, apiVersion: v1, kind: ConfigMap and metadata.name")

// Parse reads the documents of a file, YAML or JSON. The items of a List are documents of their own.
func Parse(source string, content []byte) ([]Document, error) {
	if !utf8.Valid(content) {
		return nil, fmt.Errorf("%s: this is neither YAML nor JSON: it is not UTF-8", source)
	}
	texts, err := split(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	var out []Document
	for i, text := range texts {
		name := source
		if len(texts) > 1 {
			name = fmt.Sprintf("%s, document %d", source, i+1)
		}
		object, err := toJSON(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		documents, err := expand(name, object)
		if err != nil {
			return nil, err
		}
		out = append(out, documents...)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: %w", source, errNothing)
	}
	return out, nil
}

// split separates the documents of YAML, which lines of --- separate, and the values of JSON. It leaves out empty ones.
func split(content []byte) (texts [][]byte, err error) {
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content))); ; {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return texts, nil
		}
		if err != nil {
			return nil, err
		}
		if isBlank(text) {
			continue
		}
		if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			texts = append(texts, text)
			continue
		}
		values, isJSON := splitJSON(text)
		if !isJSON {
			values = [][]byte{text} // YAML in braces
		}
		texts = append(texts, values...)
	}
}

func splitJSON(text []byte) (values [][]byte, isJSON bool) {
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var value json.RawMessage
		err := decoder.Decode(&value)
		if errors.Is(err, io.EOF) {
			return values, true
		}
		if err != nil {
			return nil, false
		}
		values = append(values, value)
	}
}

// isBlank reports whether a document of YAML has only comments and white space.
func isBlank(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line != "---" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

func toJSON(text []byte) (json.RawMessage, error) {
	if json.Valid(text) {
		return text, nil
	}
	out, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(strings.TrimPrefix(err.Error(), "error converting YAML to JSON: "), "yaml: "))
	}
	return out, nil
}

// expand returns an object, or the items of a List.
func expand(source string, object json.RawMessage) ([]Document, error) {
	var read struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace, GenerateName string }
		Items            []json.RawMessage
	}
	if err := json.Unmarshal(object, &read); err != nil {
		wrong := (*json.UnmarshalTypeError)(nil)
		if errors.As(err, &wrong) && wrong.Field != "" {
			return nil, fmt.Errorf("%s: %s is of the wrong type, %s: want text, as apiVersion: v1, kind: ConfigMap, metadata.name: web", source, wrong.Field, wrong.Value)
		}
		return nil, fmt.Errorf("%s: want an object, as apiVersion: v1, kind: ConfigMap, metadata.name: web", source)
	}
	if strings.HasSuffix(read.Kind, "List") && read.Items != nil {
		var out []Document
		for i, item := range read.Items {
			documents, err := expand(fmt.Sprintf("%s, item %d", source, i+1), item)
			if err != nil {
				return nil, err
			}
			out = append(out, documents...)
		}
		return out, nil
	}
	for _, needed := range []struct{ field, value, example string }{
		{"apiVersion", read.APIVersion, "v1 or apps/v1"}, {"kind", read.Kind, "ConfigMap"}, {"metadata.name", read.Metadata.Name, "web"},
	} {
		if needed.value != "" {
			continue
		}
		if needed.field == "metadata.name" && read.Metadata.GenerateName != "" {
			return nil, fmt.Errorf("%s: the object has a generateName and no name, so it would be another one each time: give it a metadata.name", source)
		}
		return nil, fmt.Errorf("%s: %s is missing: want, for example, %s", source, needed.field, needed.example)
	}
	if name := read.Metadata.Name; name == "." || name == ".." || strings.ContainsAny(name+read.Metadata.Namespace, "/%") {
		return nil, fmt.Errorf("%s: metadata.name %q and namespace %q: want names without / and %%, as web", source, name, read.Metadata.Namespace)
	}
	return []Document{{source, read.APIVersion, read.Kind, read.Metadata.Namespace, read.Metadata.Name, object}}, nil
}
