package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"

	"sigs.k8s.io/yaml"

	"revtail/gateway/api/mount"
	"revtail/gateway/config/suggest"
)

// apiVersion is the required value of the key apiVersion in a file. Later versions may have other values.
const apiVersion = "revtail/v1"

// readFile reads a configuration file. It refuses unknown and repeated keys, all in one error.
func readFile(path string) (given []assignment, mounts []mount.Mount, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("--config: %w", err)
	}
	content, err := decode(data)
	if err != nil {
		return nil, nil, fmt.Errorf("--config %s: %w", path, err)
	}
	if got, ok := content["apiVersion"]; !ok {
		return nil, nil, fmt.Errorf("%s: want the line `apiVersion: %s`, and there is no apiVersion", path, apiVersion)
	} else if got != apiVersion {
		return nil, nil, fmt.Errorf("%s: want the line `apiVersion: %s`, and it is `apiVersion: %s`", path, apiVersion, inJSON(got))
	}
	delete(content, "apiVersion")
	var errs []error
	if listed, ok := content[mountsKey]; ok {
		if mounts, err = readMounts(listed); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
		delete(content, mountsKey)
	}
	for _, key := range slices.Sorted(maps.Keys(content)) {
		o, known := findOption(option.key, key)
		if !known {
			errs = append(errs, fmt.Errorf("%s: unknown key %s%s", path, key, suggest.DidYouMean(key, names(option.key, "apiVersion", mountsKey))))
			continue
		}
		texts, err := scalars(content[key])
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", path, key, err))
		}
		for _, s := range texts {
			given = append(given, assignment{o.name, s, path + ": " + key})
		}
	}
	return given, mounts, errors.Join(errs...)
}

// decode decodes YAML to Go values. Numbers keep their text.
var notYAML = regexp.MustCompile(`^(error converting YAML to JSON: )?(yaml: )?`)

func decode(data []byte) (map[string]any, error) {
	if severalDocuments(data) { // the decoder would ignore all but the first
		return nil, errors.New("several YAML documents (a line ---): want one")
	}
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, errors.New(notYAML.ReplaceAllString(err.Error(), ""))
	}
	var content map[string]any
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.UseNumber()
	if decoder.Decode(&content) != nil {
		return nil, fmt.Errorf("want options with their values, as `apiVersion: %s` and `listen: 127.0.0.1:8080`", apiVersion)
	}
	return content, nil
}

// severalDocuments reports whether a separator follows a line with content.
func severalDocuments(data []byte) bool {
	content := false
	for line := range bytes.Lines(data) {
		separator := bytes.HasPrefix(line, []byte("---"))
		if separator && content {
			return true
		}
		line = bytes.TrimSpace(line)
		content = content || !separator && len(line) > 0 && line[0] != '#'
	}
	return false
}

// scalars returns a scalar, or the scalars of a list, as the texts of a flag.
func scalars(v any) ([]string, error) {
	switch v := v.(type) {
	case string:
		return []string{v}, nil
	case bool, json.Number:
		return []string{fmt.Sprint(v)}, nil
	case []any:
		var all []string
		for _, element := range v {
			s, isText := element.(string)
			if !isText {
				return nil, fmt.Errorf("want a list of strings, and %s is in it", inJSON(element))
			}
			all = append(all, s)
		}
		return all, nil
	case nil:
		return nil, errors.New("no value: give it one or remove the key")
	default:
		return nil, errors.New("want a string, a number, true, false or a list of strings")
	}
}

// inJSON shows a value of a file in a message.
func inJSON(v any) string {
	if s, isText := v.(string); isText {
		return s
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// YAML returns the configuration as a file for --config, in the order of the options. It omits options that do not apply.
func (c Config) YAML() ([]byte, error) {
	out := []byte("apiVersion: " + apiVersion + "\n")
	add := func(key string, content any) error {
		text, err := yaml.Marshal(map[string]any{key: content})
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		out = append(out, text...)
		return nil
	}
	for _, o := range c.options() {
		v := value{field: o.field}
		if content := v.yaml(); content != nil && c.excluded(o.name) == "" {
			if err := add(o.key(), content); err != nil {
				return nil, err
			}
		}
	}
	if len(c.Mounts) == 0 {
		return out, nil
	}
	err := add(mountsKey, c.Mounts)
	return out, err
}

// mountsKey is the key of the mounts, which have no flag, because they are structured.
const mountsKey = "mounts"

// mountKeys are the keys of one mount.
var mountKeys = []string{"prefix", "group", "version", "kind", "plural", "namespaced", "codec", "writable"}

// readMounts decodes the value of mountsKey. It refuses unknown keys. Validate checks the mounts.
func readMounts(content any) ([]mount.Mount, error) {
	entries, ok := content.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: want a list, each entry with prefix, group, kind and plural", mountsKey)
	}
	mounts := make([]mount.Mount, len(entries))
	for i, entry := range entries {
		text, err := json.Marshal(entry)
		if err != nil {
			return nil, err
		}
		mounts[i] = mount.Default()
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&mounts[i]); err != nil {
			return nil, fmt.Errorf("%s[%d]: %s", mountsKey, i, explainMount(err))
		}
	}
	return mounts, nil
}

var unknownField = regexp.MustCompile(`unknown field "(.*)"`)

// explainMount translates an error of encoding/json into the words of the file.
func explainMount(err error) string {
	if found := unknownField.FindStringSubmatch(err.Error()); found != nil {
		return "unknown key " + found[1] + suggest.DidYouMean(found[1], mountKeys)
	}
	if typed, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && typed.Field != "" {
		return fmt.Sprintf("%s: want a %s, got a %s", typed.Field, typed.Type.Kind(), typed.Value)
	}
	return "want an object with prefix, group, kind and plural"
}

// validateMounts does not check for conflicts with built-in kinds; Server.CheckMounts does.
func (c Config) validateMounts() error { return mount.Check(c.Mounts, c.EtcdPrefix, nil) }
