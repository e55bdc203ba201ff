package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"revtail/gateway/api/mount"
	"revtail/gateway/config/suggest"
)

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
